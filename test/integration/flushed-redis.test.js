import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemRandom } from '../../src/common/random.js'
import { createRedisBus } from '../../src/bus/redis-bus.js'
import { systemClock } from '../../src/common/clock.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createRedisPresence } from '../../src/presence/redis-presence.js'
import { createRedis } from '../../src/redis/client.js'
import { userHolders, userWorkers, WORKERS } from '../../src/redis/keys.js'
import { hashSlot } from '../../src/redis/hash-slot.js'
import { createRedisSessions } from '../../src/sessions/redis-sessions.js'
import { createSessions } from '../../src/sessions/registry.js'
import { createWorkerLease } from '../../src/workers/worker-lease.js'
import { incarnationName } from '../../src/workers/worker-watch.js'
import { entry } from '../contract/bus-fixture.js'
import { recordingLog } from '../helpers/recording-log.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis, startRedisCluster } from '../services/redis.js'

const history = { size: 10, ttl: 60 }

/**
 * The parts of a gateway worker that keep state in Redis, and a publisher.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 */
async function worker (t, url) {
  const { log } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const redis = createRedis({ urls: url.split(','), name: 'worker', log, clock: systemClock, random: systemRandom })
  t.after(() => redis.stop())
  await redis.start()
  const lease = createWorkerLease({
    redis,
    slot: 'gateway-0',
    address: { machine: 'here', pid: process.pid, path: '/run/x' },
    onLost: () => {},
    log,
    leaseTime: 600,
    clock: systemClock,
    random: systemRandom
  })
  t.after(() => lease.stop())
  await lease.start()
  /** @type {string[]} */
  const kicked = []
  /** @type {import('../../src/bus/contract.js').BusHandlers} */
  const handlers = {
    onRecord () {},
    onOrders () {},
    onReconnect () {},
    onDirect ({ uid }) {
      kicked.push(String(uid))
    }
  }
  const bus = createRedisBus({
    redis, log, metrics, workerNumber: lease.number, history, clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  await bus.start(handlers)
  let presenceLost = 0
  const presence = createRedisPresence({
    redis,
    workerNumber: lease.number,
    incarnation: () => incarnationName(lease.number, lease.incarnation),
    maxMembers: 10,
    metrics,
    log,
    clock: systemClock
  })
  t.after(() => presence.stop())
  await presence.start({
    onDiff: () => {},
    onInterrupted: () => {},
    onLost: () => {
      presenceLost++
    }
  })
  /** @type {string[]} */
  const events = []
  const sessions = createSessions({
    store: createRedisSessions({ redis }),
    uplink: { send: async ({ operator, uid }) => { events.push(`${operator} ${uid}`) } },
    worker: () => lease, connectionsOf: () => [], metrics, log, clock: systemClock, grace: 0, silence: 45_000,
    random: systemRandom
  })
  t.after(() => sessions.stop())
  redis.onBack(() => sessions.lost())
  return { redis, bus, sessions, events, kicked, presenceLost: () => presenceLost }
}

const single = async () => {
  const server = await startRedis()
  return { url: server.url, stop: () => server.stop() }
}

for (const [name, start] of /** @type {const} */ ([
  ['Redis', single],
  ['one node of Redis Cluster', startRedisCluster]
])) {
  test(`${name} is flushed while its connections stay open: users are reached, and events published, within one renewal`, async (t) => {
    const server = await start()
    t.after(() => server.stop())
    const { redis, bus, sessions, events, kicked, presenceLost } = await worker(t, server.url)
    const kick = (/** @type {string} */ uid) =>
      bus.publish([{ publication: { ...entry('', 0).publication, operator: 'kick', guid: undefined, uid } }])
    // as if this Redis had workers for longer: its publisher knows them
    await redis.client.del(WORKERS.doubted)
    await waitFor(() => kick(randomUUID()).then(() => true))
    // with Redis Cluster both users, but not the workers, are on the flushed node
    const { client } = redis
    const nodeOf = (/** @type {string} */ key) => ('slots' in client ? client.slots[hashSlot(key)]?.[0] : '')
    const isThere = (/** @type {string} */ uid) =>
      !('slots' in client) || nodeOf(userWorkers(uid)) !== nodeOf(WORKERS.owners)
    const found = Array.from({ length: 200 }, () => randomUUID()).filter(isThere)
    const [ada, bob] = found.filter((uid) => nodeOf(userWorkers(uid)) === nodeOf(userWorkers(found[0])))
    const [tab, other] = [ada, bob].map((uid) => ({
      id: `tab of ${uid}`,
      uid,
      client: undefined,
      transport: 'websocket',
      lastSeen: Date.now(),
      openDocuments: () => []
    }))
    for (const connection of [tab, other]) {
      await bus.addUser(connection.uid)
      sessions.connected(connection)
    }
    await sessions.run()
    assert.deepEqual(events.splice(0).sort(), [`online ${ada}`, `online ${bob}`].sort())

    const node =
      'slots' in client
        ? client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === nodeOf(userWorkers(ada)))
        : client
    assert.ok(node)
    await node.flushall()
    assert.equal(await client.exists(userHolders(ada)), 0)
    // a user who leaves before the worker detects the loss
    sessions.disconnected(other, 'closed')
    await sessions.run()
    await waitFor(
      async () => {
        await sessions.run()
        return events.length > 0
      },
      { message: 'the event of a user who leaves at once' }
    )
    assert.deepEqual(events.splice(0), [`offline ${bob}`])

    await waitFor(async () => (await client.zrange(userWorkers(ada), '0', '-1')).length === 1, {
      message: 'the user to be registered again'
    })
    // refused until the registrations of all workers are certain; the worker carries each of these kicks out
    await waitFor(() => kick(ada).then(() => true))
    await waitFor(() => kicked.length > 0, { message: 'the kick' })
    assert.deepEqual([...new Set(kicked)], [ada])
    assert.ok(presenceLost() >= 1)
    await waitFor(
      async () => {
        await sessions.run()
        return (await client.exists(userHolders(ada))) === 1
      },
      { message: 'the session to be restored' }
    )
    assert.deepEqual(events, [])
    sessions.disconnected(tab, 'closed')
    await waitFor(
      async () => {
        await sessions.run()
        return events.length > 0
      },
      { message: 'the end of the session' }
    )
    assert.deepEqual(events, [`offline ${ada}`])
  })
}
