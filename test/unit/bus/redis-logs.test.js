import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { RedisLogs } from '../../../src/log/bus/redis-logs.js'
import { createKeys } from '../../../src/redis/keys.js'

const { documentMeta } = createKeys()

/**
 * @param {object} options
 * @param {Set<string>} [options.away] metas whose nodes of the cluster do not respond
 * @param {Set<string>} [options.healing] metas of logs that are being healed
 * @param {boolean} [options.isCluster]
 */
function logsOf ({ away = new Set(), healing = new Set(), isCluster = true }) {
  const scripts = {
    positions: async (/** @type {string[]} */ keys) => {
      if (keys.some((key) => away.has(key))) throw new Error('CLUSTERDOWN Hash slot not served')
      return keys.flatMap((key) => key === documentMeta('without a log') ? [null, null, 0] : ['e', 7, healing.has(key) ? 1 : 0])
    },
    open: async () => { throw new Error('HEALING one') }
  }
  const afterMove = (/** @type {string} */ _key, /** @type {(move: string) => unknown} */ run) => run('')
  return new RedisLogs({
    redis: /** @type {any} */ ({ isCluster, scripts, afterMove, keys: createKeys() }),
    metaTtlOf: () => 60,
    metrics: /** @type {any} */ ({}),
    random: systemRandom
  })
}

test('ends of logs are read although the node of others does not respond, whose ends are unknown', async () => {
  const logs = logsOf({ away: new Set([documentMeta('away')]) })
  const ends = (/** @type {string[]} */ guids) => logs.ends(guids)
  assert.deepEqual(await ends(['one', 'away', 'without a log']), [{ epoch: 'e', offset: 7 }, undefined, null])
  await assert.rejects(ends(['away']), /CLUSTERDOWN/)
  assert.deepEqual(await ends([]), [])
})

test('ends of logs are read although others of the same call are being healed, whose ends are unknown', async () => {
  const logs = logsOf({ healing: new Set(['lost', 'lost too'].map(documentMeta)), isCluster: false })
  assert.deepEqual(
    await logs.ends(['one', 'lost', 'without a log', 'lost too']),
    [{ epoch: 'e', offset: 7 }, undefined, null, undefined]
  )
  await assert.rejects(logs.ends(['lost', 'lost too']), /HEALING/)
})
