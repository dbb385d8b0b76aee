import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf } from '../../../src/people/presence/answer-bytes.js'

test('a list of members counts with its bytes of JSON, each time', () => {
  const members = [{ uid: 'ada', id: '1' }, { uid: 'bob', id: '2' }]
  for (let i = 0; i < 2; i++) assert.equal(bytesOf(members), JSON.stringify(members).length)
})
