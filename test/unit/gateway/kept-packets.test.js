import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptPackets } from '../../../src/gateway/mqtt/kept-packets.js'

test('a packet is encoded once for each thing that it says, and a client cannot make a worker keep any number', () => {
  const kept = new KeptPackets()
  let encoded = 0
  const get = (/** @type {string} */ key) => kept.get(key, () => {
    encoded++
    return Buffer.from(key)
  })
  assert.equal(get('one'), get('one'))
  assert.deepEqual([get('two'), encoded], [Buffer.from('two'), 2])
  for (let i = 0; i < 100; i++) get(`other ${i}`)
  encoded = 0
  for (const key of ['one', 'other 99', 'other 99']) assert.equal(get(key).toString(), key)
  assert.equal(encoded, 2)
})
