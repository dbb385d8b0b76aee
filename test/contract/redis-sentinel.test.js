import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { emitterChannels } from '../../src/transport/socketio/emitter-messages.js'
import { createRedis } from '../../src/redis/client.js'
import { recordingLog } from '../helpers/recording-log.js'
import { waitFor } from '../helpers/wait.js'
import { MASTER_NAME, startSentinels } from '../services/sentinel.js'
import { createInbox, entry, fresh, handlersOf } from './bus-fixture.js'

/** Time after which a Sentinel has given up a failover, ms: twice its `failover-timeout`. */
const GIVEN_UP = 10_000

/**
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {(message: string) => void} [onWaits]
 */
function open (t, url, onWaits) {
  const { log, lines } = recordingLog()
  const redis = createRedis({ urls: [url], name: 'test', log, onWaits, clock: systemClock, random: systemRandom })
  t.after(() => redis.stop())
  return { redis, log, lines }
}

test('a worker follows the master through failovers, with its subscriptions', { timeout: 240_000 }, async (t) => {
  const set = await startSentinels({ password: 'of-redis', sentinelPassword: 'of-sentinel' })
  t.after(() => set.stop())
  const { redis, log } = open(t, set.url)
  await redis.start()
  const inbox = createInbox()
  const bus = createRedisBus({
    redis, log, metrics: createMetrics({ processMetrics: false }), workerNumber: 7, history: { size: 10, ttl: 60 },
    clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  await bus.start(handlersOf(inbox))
  /** @type {string[]} */
  const patterned = []
  const patterns = redis.subscribePatterns(emitterChannels('emitter'), (_, payload) => { patterned.push(String(payload)) })
  t.after(() => patterns.stop())
  await patterns.start()
  const guid = fresh()
  await bus.subscribe(guid)
  const arrives = async () => {
    const seen = inbox.records.length
    await waitFor(async () => {
      await bus.publish([entry(guid, 'live')])
      return inbox.records.length > seen
    }, { timeout: 20_000, message: 'a live record' })
    await waitFor(async () => {
      await redis.client.publish(`${emitterChannels('emitter')[0]}x`, 'hello')
      return patterned.splice(0).length > 0
    }, { timeout: 20_000, message: 'a message of a pattern' })
  }
  await arrives()

  // the master dies
  const [first] = set.servers
  const firstPort = await set.masterPort()
  assert.equal(firstPort, first.port)
  await first.kill('SIGKILL')
  await waitFor(async () => await set.masterPort() !== firstPort, { timeout: 20_000, message: 'a failover' })
  await arrives()

  // the master is asked to step down, with no broken connection; its successor must know it as a replica
  await first.restart()
  const secondPort = await set.masterPort()
  await waitFor(async () => String(await redis.client.info('replication')).includes('connected_slaves:2'), {
    timeout: 30_000, message: 'two replicas'
  })
  const sentinel = new Redis({ port: set.sentinels[0].port, password: 'of-sentinel' })
  sentinel.on('error', () => {})
  t.after(() => sentinel.disconnect())
  let askedAt = -Infinity
  await waitFor(async () => {
    if (await set.masterPort() !== secondPort) return true
    // a Sentinel gives a failover up if no replica can take over just then, and does not repeat it
    if (performance.now() - askedAt > GIVEN_UP) {
      await sentinel.call('SENTINEL', 'FAILOVER', MASTER_NAME)
      askedAt = performance.now()
    }
    return false
  }, { timeout: 20_000, message: 'another failover' })
  const client = /** @type {import('ioredis').Redis} */ (redis.client)
  // the Sentinels wait for 10 s before they demote a master that still runs
  const before = new Redis({ port: secondPort, password: 'of-redis' })
  before.on('error', () => {})
  t.after(() => before.disconnect())
  let waited = false
  await waitFor(async () => {
    const [role] = await before.role()
    const moved = redis.ready && client.stream.remotePort !== secondPort
    if (!moved && role === 'slave') waited = true
    return moved
  }, { timeout: 20_000, message: 'the new master' })
  assert.equal(waited, false, 'the worker does not wait until it is demoted')
  await arrives()

  // one Sentinel hangs: the others are asked
  set.sentinels[0].process.kill('SIGSTOP')
  t.after(() => set.sentinels[0].process.kill('SIGCONT'))
  redis.client.disconnect(true)
  await waitFor(() => redis.ready, { timeout: 20_000 })
  await arrives()
})

test('the start waits, and says for what, while Sentinels know no such master, refuse or hang', { timeout: 120_000 }, async (t) => {
  const set = await startSentinels({ replicas: 0, sentinelPassword: 'of-sentinel' })
  t.after(() => set.stop())
  for (const [url, expected] of /** @type {[string, RegExp][]} */ ([
    [set.url.replace(`/${MASTER_NAME}`, '/unknown'),
      /the master unknown of the Sentinels 127\.0\.0\.1:\d+, .*: they know no master of the name unknown/],
    [set.url.replace('of-sentinel', 'wrong'), /: they refuse the password \(sentinel_password in the URL\): .*WRONGPASS/],
    [set.url.replace(/\?.*/, ''), /: they refuse the password .*NOAUTH/],
    [`redis+sentinel://127.0.0.1:1/${MASTER_NAME}`, /: no connection to 127\.0\.0\.1:1;/]
  ])) {
    /** @type {string[]} */
    const waits = []
    const { redis } = open(t, url, (message) => waits.push(message))
    const starting = redis.start()
    starting.catch(() => {})
    await waitFor(() => waits.some((message) => expected.test(message)), { timeout: 10_000, message: () => `${expected}: ${waits}` })
    assert.ok(waits.every((message) => !/of-sentinel|wrong@|sentinel_password=/.test(message)), String(waits))
    await redis.stop()
    await assert.rejects(starting, /stopped while connecting/)
  }
})

test('a Sentinel in place of Redis is refused, with the URL that is needed', async (t) => {
  const set = await startSentinels({ replicas: 0 })
  t.after(() => set.stop())
  const { redis } = open(t, `redis://127.0.0.1:${set.sentinels[0].port}`)
  await assert.rejects(redis.start(), /this is a Sentinel; REDIS_URL=redis\+sentinel:/)
})
