import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { RedisLogs } from '../../../src/log/bus/redis-logs.js'
import { createKeys } from '../../../src/redis/keys.js'

const { documentMeta } = createKeys()

/** A cluster in which the nodes of some documents do not respond. @param {Set<string>} away metas */
function logsOf (away) {
  const scripts = {
    positions: async (/** @type {string[]} */ keys) => {
      if (keys.some((key) => away.has(key))) throw new Error('CLUSTERDOWN Hash slot not served')
      return keys.flatMap((key) => key === documentMeta('without a log') ? [null, null, 0] : ['e', 7, 0])
    }
  }
  return new RedisLogs({
    redis: /** @type {any} */ ({ isCluster: true, scripts, keys: createKeys() }),
    metaTtlOf: () => 60,
    metrics: /** @type {any} */ ({}),
    random: systemRandom
  })
}

test('ends of logs are read although the node of others does not respond, whose ends are unknown', async () => {
  const logs = logsOf(new Set([documentMeta('away')]))
  const ends = (/** @type {string[]} */ guids) => logs.ends(guids)
  assert.deepEqual(await ends(['one', 'away', 'without a log']), [{ epoch: 'e', offset: 7 }, undefined, null])
  await assert.rejects(ends(['away']), /CLUSTERDOWN/)
  assert.deepEqual(await ends([]), [])
})
