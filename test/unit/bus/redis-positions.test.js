import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedisPositions } from '../../../src/bus/redis-positions.js'
import { documentMeta } from '../../../src/redis/keys.js'

/** A cluster of which the nodes of some documents are away. @param {Set<string>} away metas */
function positionsOf (away) {
  const scripts = {
    positions: async (/** @type {string[]} */ keys) => {
      if (keys.some((key) => away.has(key))) throw new Error('CLUSTERDOWN Hash slot not served')
      return keys.flatMap((key) => key === documentMeta('nobody has it') ? [null, null, 0] : ['e', 7, 0])
    }
  }
  return createRedisPositions({
    redis: /** @type {any} */ ({ isCluster: true, scripts }),
    subscribed: new Map(),
    rolledBack: async () => {},
    openLog: async () => ({ epoch: 'e', offset: 0 })
  })
}

test('the ends of logs are told although the node of others is away; of those nothing is known', async () => {
  const positions = positionsOf(new Set([documentMeta('away')]))
  assert.deepEqual(await positions(['one', 'away', 'nobody has it']), [{ epoch: 'e', offset: 7 }, undefined, null])
  await assert.rejects(positions(['away']), /CLUSTERDOWN/)
  assert.deepEqual(await positions([]), [])
})
