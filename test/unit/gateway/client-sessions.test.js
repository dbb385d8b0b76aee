import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClientSessions } from '../../../src/gateway/client-sessions.js'

test('clients that start clean together share a command per shard, and one that is down refuses only its own', async () => {
  /** @type {string[][]} */
  const calls = []
  const client = {
    async unlink (/** @type {string[]} */ ...keys) {
      calls.push(keys)
      if (keys.includes('{down}a')) throw new Error('no answer')
    }
  }
  const keys = { clientSession: (/** @type {string} */ uid, /** @type {string} */ id) => `{${uid}}${id}` }
  const sessions = createClientSessions(/** @type {any} */ ({ client, keys, scripts: {}, isCluster: true }))
  const ends = [['up', 'a'], ['down', 'a'], ['up', 'b'], ['down', 'b'], ['up', 'a']].map(([uid, id]) => sessions.drop(uid, id))
  assert.deepEqual(
    (await Promise.allSettled(ends)).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']
  )
  assert.deepEqual(calls, [['{up}a', '{up}b'], ['{down}a', '{down}b']])
})
