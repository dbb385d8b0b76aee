import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityIn } from '../../../src/redis/identity/identity.js'

test('only a master has a generation', () => {
  const id = 'd58427ca38360f8553d09e908b80569174567a51'
  assert.equal(identityIn(`# Replication\r\nrole:master\r\nmaster_replid:${id}\r\n`).generation, id.slice(0, 20))
  assert.equal(identityIn(`# Replication\r\nrole:slave\r\nmaster_replid:${id}\r\n`).generation, undefined)
  assert.equal(identityIn('role:master\r\n').generation, undefined)
})

test('a server is the same from its start to its end, whatever it has become', () => {
  assert.equal(identityIn('run_id:abc\r\nrole:slave\r\n').server, 'abc')
  assert.equal(identityIn('role:master\r\n').server, undefined)
})
