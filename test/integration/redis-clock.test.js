import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { Orders, orderName } from '../../src/bus/orders.js'
import { createRedisBus } from '../../src/bus/redis-bus.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createRedis } from '../../src/redis/client.js'
import { WORKERS } from '../../src/redis/keys.js'
import { createRedisStream } from '../../src/uplink/stream/redis-stream.js'
import { LEASE } from '../../src/uplink/stream/contract.js'
import { Standing } from '../../src/workers/standing.js'
import { createWorkerLease } from '../../src/workers/worker-lease.js'
import { createWorkerWatch } from '../../src/workers/worker-watch.js'
import { publication } from '../contract/bus-fixture.js'
import { recordingLog } from '../helpers/recording-log.js'
import { readShiftedTime, stepClock } from '../helpers/redis-clock.js'
import { startRedisPublisher } from '../helpers/redis-publisher.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/** Steps of the wall clock of Redis, s. */
const STEPS = [-60, 1000, -30, 2, -1, 60, -60, 1000, -1000, 30]
const LEASE_TIME = 900

/** @returns {import('../../src/uplink/contract.js').UplinkRecord} */
const message = () => ({
  operator: 'message', uid: 'u', sid: 's', guid: 'd', event: 'e', traceId: 'f'.repeat(32), timestamp: 1,
  contentType: 'application/json', value: Buffer.from('1')
})

/** @param {import('node:test').TestContext} t */
async function startShifted (t) {
  const server = await startRedis()
  t.after(() => server.stop())
  return server.url
}

/**
 * A worker without clients: it notes orders about its users as a gateway worker does.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {string[]} uids
 */
async function startWorker (t, url, uids) {
  const { log, lines } = recordingLog()
  const redis = createRedis({ urls: [url], name: 'worker', log, clock: systemClock, random: systemRandom })
  t.after(() => redis.stop())
  await redis.start()
  readShiftedTime(redis)
  const lease = createWorkerLease({
    redis, log,
    slot: randomUUID(),
    address: { machine: 'here', pid: process.pid, path: '/run/x' },
    onLost: () => {},
    leaseTime: LEASE_TIME,
    clock: systemClock,
    random: systemRandom
  })
  t.after(() => lease.stop())
  await lease.start()
  const metrics = createMetrics({ processMetrics: false })
  const bus = createRedisBus({
    redis, log, metrics, workerNumber: lease.number, clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  const orders = new Orders(systemClock)
  /** Orders that were read with the registration of their users. @type {Set<string>} */
  const read = new Set()
  let count = 0
  await bus.start({
    onRecord () {},
    onReconnect () {},
    onOrders (uid, known) { for (const [name] of orders.noteAll(uid, known)) read.add(`${uid} ${name}`) },
    async onDirect (order, _receipt, at = 0) {
      // a worker that is slow to answer: its lease is looked at meanwhile
      if (count++ % 20 === 0) await new Promise((resolve) => { setTimeout(resolve, 200) })
      if (order.operator === 'leave' || order.operator === 'close') return 1
      return orders.noteOrder({ ...order, uid: /** @type {string} */ (order.uid) }, at) ? 1 : 0
    }
  })
  const standing = new Standing({ lease, catchUp: () => bus.catchUp(), log, clock: systemClock, random: systemRandom })
  t.after(() => standing.stop())
  lease.onUnsure(() => standing.lost())
  /** @type {number[]} */
  const gone = []
  const watch = createWorkerWatch({
    redis, log, leaseTime: LEASE_TIME, interval: 100, grace: 150, onWorkerGone: [(number) => gone.push(number)],
    clock: systemClock, random: systemRandom
  })
  t.after(() => watch.stop())
  await watch.start()
  await Promise.all(uids.map((uid) => bus.addUser(uid)))
  return { redis, gone, lines, read }
}

test('1,000 orders take effect while the clock of Redis is set back and forth, and no lease ends', async (t) => {
  const url = await startShifted(t)
  const uids = Array.from({ length: 25 }, (_, i) => `user-${i}`)
  const workers = [await startWorker(t, url, uids.slice(0, 12)), await startWorker(t, url, uids.slice(12))]
  const { bus, redis } = await startRedisPublisher(t, url, readShiftedTime)
  let without = 0
  let made = 0
  const order = async (/** @type {any} */ fields) => {
    const name = `${fields.uid} ${orderName(publication(fields))}`
    for (const { read } of workers) read.delete(name)
    const publish = () => bus.publish([{ publication: publication(fields) }])
    // the workers register their users again after a step: for this time the caller repeats
    const published = await waitFor(() => publish().catch((error) => {
      if (error.code !== 'unavailable') throw error
      return undefined
    }))
    const carriedOut = published?.[0].carriedOut
    made++
    if (carriedOut?.connections === 1) return
    // a worker that registered its users again has read the order with them
    if (!workers.some(({ read }) => read.has(name))) without++
  }
  for (const [round, step] of STEPS.entries()) {
    await stepClock(redis, step * 1000)
    await Promise.all(uids.map(async (uid, i) => {
      const ttl = i % 2 === 0 ? undefined : 600
      await order({ operator: 'kick', uid })
      await order({ operator: 'revoke', uid, guid: 'd', ttl })
      await order({ operator: 'restore', uid, guid: 'd' })
      await order({ operator: round % 2 === 0 ? 'leave' : 'revoke', uid, guid: `d-${round}` })
    }))
  }
  assert.deepEqual({ made, without }, { made: 1000, without: 0 })
  assert.deepEqual(workers.flatMap(({ gone }) => gone), [])
  await waitFor(() => workers.every(({ lines }) => lines.some(({ text }) => /clock of redis was set/.test(text))), {
    message: 'both workers to notice a step'
  })
})

test('after the clock of Redis was set back, the lease of a dead worker ends as soon as usual', async (t) => {
  const url = await startShifted(t)
  const watching = await startWorker(t, url, [])
  const { redis } = watching
  // a worker that will not renew any more
  await redis.client.zadd(WORKERS.expiry, Date.now() + LEASE_TIME, '77')
  await redis.client.hset(WORKERS.incarnations, '77', '1')
  await stepClock(redis, -60_000)
  await waitFor(() => watching.gone.length > 0, { message: 'the end of the worker' })
  assert.deepEqual(watching.gone, [77])
})

test('after the clock of Redis was set back, parts of the uplink and requests in progress are free again as soon as usual', async (t) => {
  const url = await startShifted(t)
  const { redis } = await startRedisPublisher(t, url, readShiftedTime)
  const stream = createRedisStream({ redis, groups: ['g'], clock: systemClock, random: systemRandom })
  await stream.append(message())
  const take = async (/** @type {string} */ holder) => {
    const parts = Array.from({ length: stream.parts }, (_, part) => part)
    const taken = await Promise.all(parts.map((part) => stream.take(part, { group: 'g', holder })))
    return taken.filter((batch) => batch !== null).length
  }
  assert.equal(await take('dead'), stream.parts)
  await stepClock(redis, -60_000)
  assert.equal(await take('next'), 0)
  await stepClock(redis, LEASE + 1)
  assert.equal(await take('next'), stream.parts)

  const begin = (/** @type {string} */ holder) =>
    redis.scripts.request(['inkcast:{r:x}'], ['print', 'trace', 5000, 900, holder, 2000])
  assert.equal((await begin('dead'))[0], 'new')
  await stepClock(redis, -60_000)
  assert.equal((await begin('next'))[0], 'busy')
  await stepClock(redis, 5001)
  assert.equal((await begin('next'))[0], 'busy', 'a process that is alive has time to renew it')
  await stepClock(redis, 2001)
  assert.equal((await begin('next'))[0], 'new')
})

test('the sequence of events grows also when Redis is empty and its clock was set back', async (t) => {
  const url = await startShifted(t)
  const { redis } = await startRedisPublisher(t, url)
  let ahead = 20_000
  const stream = createRedisStream({ redis, groups: ['g'], latestTime: () => Date.now() + ahead, clock: systemClock, random: systemRandom })
  let newest = 0
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 20; i++) await stream.append(message())
    for (let part = 0; part < stream.parts; part++) {
      const batch = await stream.take(part, { group: 'g', holder: 'h' })
      for (const { sequence } of batch?.entries ?? []) {
        assert.ok(sequence > newest, `${sequence} after ${newest}`)
        newest = sequence
      }
    }
    await redis.client.flushall()
    // this process knows a later time than Redis shows
    ahead += 1000
  }
})
