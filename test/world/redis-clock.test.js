import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Orders, orderName } from '../../src/log/bus/orders.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { LEASE } from '../../src/services/uplink/stream/contract.js'
import { createRedisStream } from '../../src/services/uplink/stream/redis-stream.js'
import { Standing } from '../../src/people/workers/standing.js'
import { LEASE_TIME, WorkerLease } from '../../src/people/workers/worker-lease.js'
import { WorkerWatch } from '../../src/people/workers/worker-watch.js'
import { publication } from '../contract/bus-fixture.js'
import { startPart } from '../simulation/script/part.js'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** Steps of the wall clock of Redis, s. */
const STEPS = [-60, 1000, -30, 2, -1, 60, -60, 1000, -1000, 30]

/** @returns {import('../../src/log/publish/uplink.js').UplinkRecord} */
const message = () => ({
  operator: 'message', uid: 'u', sid: 's', guid: 'd', event: 'e', traceId: 'f'.repeat(32), timestamp: 1,
  contentType: 'application/json', value: Buffer.from('1')
})

/** @param {ScriptedCluster} cluster @param {number} ms by which the clock of Redis is set */
const step = ({ redis: { servers: [server] } }, ms) => server.setClock(ms)

/**
 * A worker without clients: it notes orders about its users as a gateway worker does.
 * @param {ScriptedCluster} cluster
 * @param {string} name
 * @param {string[]} uids
 */
async function startWorker (cluster, name, uids) {
  const part = await startPart(cluster, name)
  const { process: { pid, machine }, redis, log, clock, random, act } = part
  const lease = new WorkerLease({
    redis, slot: name, log, clock, random, address: { machine: machine.name, pid, path: '/run/x' }, onLost: () => {}
  })
  const orders = new Orders(clock)
  /** Orders that were read with the registration of their users. @type {Set<string>} */
  const read = new Set()
  /** @type {number[]} */
  const gone = []
  let count = 0
  await act(async () => {
    await lease.start()
    const bus = createRedisBus({
      redis, log, metrics: createMetrics({ processMetrics: false }), workerNumber: lease.number, clock, random
    })
    await bus.start({
      onRecord () {},
      onReconnect () {},
      onOrders (uid, known) { for (const [name] of orders.noteAll(uid, known)) read.add(`${uid} ${name}`) },
      async onDirect (order, _receipt, at = 0) {
        // a worker that is slow to answer: its lease is looked at meanwhile
        if (count++ % 20 === 0) await clock.sleep(200)
        if (order.operator === 'leave' || order.operator === 'close') return 1
        return orders.noteOrder({ ...order, uid: /** @type {string} */ (order.uid) }, at) ? 1 : 0
      }
    })
    const standing = new Standing({ lease, catchUp: () => bus.catchUp(), log, clock, random })
    lease.onUnsure(() => standing.lost())
    const watch = new WorkerWatch({
      redis, log, grace: 5000, onWorkerGone: [(number) => gone.push(number)], clock, random
    })
    await watch.start()
    await Promise.all(uids.map((uid) => bus.addUser(uid)))
  })
  return { ...part, lease, gone, read }
}

/** @param {ScriptedCluster} cluster */
async function startPublisher (cluster) {
  const part = await startPart(cluster, 'publisher')
  const { redis, log, clock, random, act } = part
  const bus = createRedisBus({ redis, log, metrics: createMetrics({ processMetrics: false }), clock, random })
  await act(() => bus.start())
  return { ...part, bus }
}

test('1,000 orders take effect while the clock of Redis is set back and forth, and no lease ends', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const uids = Array.from({ length: 25 }, (_, i) => `user-${i}`)
    const workers = [
      await startWorker(cluster, 'one', uids.slice(0, 12)), await startWorker(cluster, 'two', uids.slice(12))
    ]
    const { bus, clock, act } = await startPublisher(cluster)
    let without = 0
    let made = 0
    /** @param {any} fields */
    async function order (fields) {
      const name = `${fields.uid} ${orderName(publication(fields))}`
      for (const { read } of workers) read.delete(name)
      const publish = () => bus.publish([{ publication: publication(fields) }]).catch((error) => {
        // the workers register their users again after a step: for this time the caller repeats
        if (error.code !== 'unavailable') throw error
        return undefined
      })
      let published = await publish()
      while (published === undefined) {
        await clock.sleep(500)
        published = await publish()
      }
      made++
      if (published[0].carriedOut?.connections === 1) return
      // a worker that registered its users again has read the order with them
      if (!workers.some(({ read }) => read.has(name))) without++
    }
    for (const [round, seconds] of STEPS.entries()) {
      step(cluster, seconds * 1000)
      await act(() => Promise.all(uids.map(async (uid, i) => {
        const ttl = i % 2 === 0 ? undefined : 600
        await order({ operator: 'kick', uid })
        await order({ operator: 'revoke', uid, guid: 'd', ttl })
        await order({ operator: 'restore', uid, guid: 'd' })
        await order({ operator: round % 2 === 0 ? 'leave' : 'revoke', uid, guid: `d-${round}` })
      })))
    }
    assert.deepEqual({ made, without }, { made: 1000, without: 0 })
    assert.deepEqual(workers.flatMap(({ gone }) => gone), [])
    for (const { lines } of workers) assert.ok(lines.some(({ text }) => /clock of redis was set/.test(text)))
  }))

test('after the clock of Redis was set back, the lease of a dead worker ends as soon as usual', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const { gone } = await startWorker(cluster, 'watching', [])
    const dead = await startWorker(cluster, 'dead', [])
    await cluster.pass(5000)
    dead.process.end(null)
    step(cluster, -60_000)
    // at most: as if it had been renewed at the step
    await cluster.pass(LEASE_TIME + 1500)
    assert.deepEqual(gone, [dead.lease.number])
  }))

test('after the clock of Redis was set back, parts of the uplink and requests in progress are free again as soon as usual', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const { redis, clock, random, act } = await startPart(cluster, 'service')
    const stream = createRedisStream({ redis, groups: ['g'], clock, random })
    await act(() => stream.append(message()))
    const take = (/** @type {string} */ holder) => act(async () => {
      const parts = Array.from({ length: stream.parts }, (_, part) => part)
      const taken = await Promise.all(parts.map((part) => stream.take(part, { group: 'g', holder })))
      return taken.filter((batch) => batch !== null).length
    })
    assert.equal(await take('dead'), stream.parts)
    step(cluster, -60_000)
    assert.equal(await take('next'), 0)
    await cluster.pass(LEASE + 100)
    assert.equal(await take('next'), stream.parts)

    const begin = (/** @type {string} */ holder) =>
      act(async () => (await redis.scripts.request(['inkcast:{r:x}'], ['print', 'trace', 5000, 900, holder, 2000]))[0])
    assert.equal(await begin('dead'), 'new')
    step(cluster, -60_000)
    assert.equal(await begin('next'), 'busy')
    await cluster.pass(5001)
    assert.equal(await begin('next'), 'busy', 'a process that is alive has time to renew it')
    await cluster.pass(2001)
    assert.equal(await begin('next'), 'new')
  }))

test('the sequence of events grows also when Redis is empty and its clock was set back', () =>
  inCluster({ machines: 0 }, async (cluster) => {
    const { redis, clock, random, act } = await startPart(cluster, 'service')
    // this process knows a later time than Redis shows
    let ahead = 20_000
    const latestTime = () => clock.now() + ahead
    const stream = createRedisStream({ redis, groups: ['g'], latestTime, clock, random })
    let newest = 0
    for (let round = 0; round < 5; round++) {
      await act(async () => {
        for (let i = 0; i < 20; i++) await stream.append(message())
        for (let part = 0; part < stream.parts; part++) {
          const batch = await stream.take(part, { group: 'g', holder: 'h' })
          for (const { sequence } of batch?.entries ?? []) {
            assert.ok(sequence > newest, `${sequence} after ${newest}`)
            newest = sequence
          }
        }
      })
      assert.ok(newest > 0)
      await cluster.command('FLUSHALL')
      step(cluster, -5000)
      ahead += 1000
    }
  }))
