import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisOverview } from '../../src/watch/overview/redis-overview.js'
import { createReport } from '../../src/watch/overview/report.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'

const report = (/** @type {string} */ host) => ({
  name: 'gateway-0', host, version: '1.0.0', startedAt: 1, notReady: [], worker: 3, connections: 2, documents: 1, lag: 0
})

for (const [name, url] of BACKENDS) {
  test(`${name}: a report is read until it is removed, or was not written again for its life`, async (t) => {
    const { log } = recordingLog()
    const redis = testRedis({ urls: url().split(','), name: 'test', log })
    t.after(() => redis.stop())
    await redis.start()
    // others use the same Redis
    const store = createRedisOverview({ redis, life: 60_000 })
    const hosts = Array.from({ length: 3 }, () => String(randomUUID()))
    const own = async () => (await store.read()).map(({ host }) => host).filter((host) => hosts.includes(host)).sort()
    const ids = hosts.map(() => randomUUID())
    await Promise.all(hosts.map((host, i) => store.write(ids[i], report(host))))
    assert.deepEqual(await own(), [...hosts].sort())
    assert.deepEqual((await store.read()).find(({ host }) => host === hosts[0]), report(hosts[0]))
    await store.write(ids[0], report(hosts[0]))
    await store.remove(ids[1])
    assert.deepEqual(await own(), [hosts[0], hosts[2]].sort())
    const brief = createRedisOverview({ redis, life: 1 })
    await waitFor(async () => (await brief.read()).length === 0)
    assert.deepEqual(await own(), [])
  })
}

test('a process writes its report again and again, also after failures, and removes it at the end', async () => {
  const { log } = recordingLog()
  /** @type {string[]} */
  const calls = []
  let fails = true
  const part = createReport({
    store: {
      write: async (id, { host }) => {
        calls.push(host)
        if (fails) throw new Error('no Redis')
      },
      remove: async () => { calls.push('removed') },
      read: async () => []
    },
    describe: async () => report('here'),
    log,
    every: 1,
    clock: systemClock,
    random: systemRandom
  })
  part.start()
  await waitFor(() => calls.length >= 3)
  fails = false
  await waitFor(() => calls.length >= 5)
  await part.stop()
  const { length } = calls
  assert.deepEqual(calls.at(-1), 'removed')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(calls.length, length)
})
