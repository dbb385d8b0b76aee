import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERRORS } from '../../../src/common/errors.js'

test('the types of the client name every code of the gateway', () => {
  const source = readFileSync(new URL('../../../client/common/error.js', import.meta.url), 'utf8')
  const gateway = [...source.matchAll(/@typedef \{(.*)\} (?!OwnCode|LocalCode)\w+/g)].map(([, union]) => union).join()
  assert.deepEqual([...gateway.matchAll(/'(\w+)'/g)].map(([, code]) => code).sort(), Object.keys(ERRORS).sort())
})
