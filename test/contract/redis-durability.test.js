import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createDurability } from '../../src/redis/durability/durability.js'
import { hashSlot } from '../../src/redis/hash-slot.js'
import { createKeys } from '../../src/redis/keys.js'
import { createRedisStream } from '../../src/services/uplink/stream/redis-stream.js'
import { fileScope } from '../helpers/file-scope.js'
import { manualClock } from '../helpers/manual-clock.js'
import { recordingLog } from '../helpers/recording-log.js'
import { adminOf, replicate, startReplicatedRedis } from '../helpers/replicated-redis.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { lacks } from '../services/install.js'
import { clusterAddresses, clusterArgs, startRedis, startRedisCluster } from '../services/redis.js'
import { entry, fresh, range } from './bus-fixture.js'
import { knowWorkers } from './bus-redis-pair.js'

const { documentMeta } = createKeys()

/** The permissions in docs/operations/redis.md. */
const ALL = '~inkcast:* &inkcast:* +@all -@admin -@dangerous +info'.split(' ')
const TIMEOUT = 500
/** Where an acknowledgement is expected: also a busy machine gives one in this time, ms. */
const PATIENT = { timeout: 60_000 }

/**
 * A bus and an uplink stream whose writes are confirmed.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {{ mode?: 'replicas' | 'fsync', timeout?: number, clock?: import('../../src/base/common/clock.js').Clock }}
 *   [options] clock: of the waits
 */
async function open (t, url, { mode = 'replicas', timeout = TIMEOUT, clock = systemClock } = {}) {
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const redis = testRedis({ urls: url.split(','), name: 'test', log })
  t.after(() => redis.stop())
  await redis.start()
  await knowWorkers(redis)
  const durability = createDurability({
    redis, settings: { publishWait: mode }, timeout, name: 'test', metrics, log, clock, random: systemRandom
  })
  t.after(() => durability.stop())
  await durability.start()
  const bus = createRedisBus({
    redis, durability, log, metrics, history: { size: 1000, ttl: 60 }, clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  await bus.start(undefined)
  const name = fresh('stream')
  const stream = createRedisStream({ redis, durability, groups: ['one'], name, clock: systemClock, random: systemRandom })
  const count = async (/** @type {string} */ result) =>
    (await metrics.write_waits.get()).values.find(({ labels }) => labels.result === result)?.value ?? 0
  const pending = async () => (await metrics.write_waits_pending.get()).values[0]?.value ?? 0
  return { redis, durability, bus, stream, name, lines, count, pending }
}

/**
 * Records the connections that send WAIT from now on.
 * @param {import('node:test').TestContext} t
 * @returns {() => Redis[]}
 */
function waitsSent (t) {
  const calling = t.mock.method(Redis.prototype, 'call')
  return () => calling.mock.calls
    .filter(({ arguments: [name] }) => name === 'WAIT')
    .map((call) => /** @type {Redis} */ (call.this))
}

/** @param {string} guid @param {number} [i] @returns {import('../../src/log/publish/uplink.js').UplinkRecord} */
const message = (guid, i = 1) => ({
  operator: 'message', guid, event: 'edit', uid: 'u', sid: 's', traceId: 'a'.repeat(32), timestamp: 1,
  contentType: 'application/json', value: Buffer.from(String(i))
})

/** @returns {Promise<number[]>} ids of the connections that write and wait */
const waitingIds = async () =>
  [...String(await masterAdmin.client('LIST')).matchAll(/^id=(\d+) .*name=\S*test-wait /gm)].map(([, id]) => Number(id))

const killWaiting = async () => { for (const id of await waitingIds()) await masterAdmin.client('KILL', 'ID', id) }

/** @param {Promise<unknown>} call @param {string} code */
const rejects = (call, code) => assert.rejects(call, { code })

const scope = fileScope()
const { master, replica, masterAdmin, replicaAdmin } = await startReplicatedRedis(scope)
const program = await lacks(['valkey-server']) === false ? 'valkey-server' : 'redis-server'
const onDisk = await startRedis({ program, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
scope.after(() => onDisk.stop())
const diskAdmin = adminOf(scope, onDisk)
/** @param {import('ioredis').Redis} admin */
const isOld = async (admin) => /^redis_version:7\.[01]\./m.test(await admin.info('server'))
const skip = await isOld(diskAdmin) && 'needs Redis 7.2 or Valkey'
const skipOld = !await isOld(masterAdmin) && 'needs Redis 7.0'

describe('PUBLISH_WAIT=replicas', () => {
  test('an acknowledged publication is on the replica, and so is an acknowledged message of the uplink', async (t) => {
    const { bus, stream, name, count } = await open(t, master.url, PATIENT)
    for (let i = 0; i < 20; i++) {
      const guid = fresh()
      await bus.publish([entry(guid, i)])
      assert.equal(await replicaAdmin.hget(documentMeta(guid), 'o'), '1')
    }
    await stream.append(message('d'))
    assert.equal((await replicaAdmin.keys(`inkcast:{${name}:*}:log`)).length, 1)
    assert.equal(await count('ok'), 21)
  })

  test('publications at the same time share a WAIT', async (t) => {
    const { bus } = await open(t, master.url, PATIENT)
    const waits = async () => Number(/cmdstat_wait:calls=(\d+)/.exec(await masterAdmin.info('commandstats'))?.[1])
    const before = await waits()
    const guids = range(500).map(() => fresh())
    await Promise.all(guids.map((guid, i) => bus.publish([entry(guid, i)])))
    const calls = await waits() - before
    assert.ok(calls >= 1 && calls < 50, `${calls} calls`)
  })

  test('without the replica: answered in time, then refused before anything is written, until it is back', async (t) => {
    const { bus, stream, durability, count, lines } = await open(t, master.url)
    const guid = fresh()
    await (await open(t, master.url, PATIENT)).bus.publish([entry(guid, 1, { idempotencyKey: 'known' })])
    await replica.kill('SIGSTOP')
    t.after(() => replica.kill('SIGCONT'))
    await Promise.all([
      rejects(bus.publish([entry(guid, 2)]), 'timeout'),
      // what the log has already is not acknowledged either
      rejects(bus.publish([entry(guid, 1, { idempotencyKey: 'known' })]), 'timeout'),
      rejects(stream.append(message(guid)), 'timeout')
    ])
    const [end] = await bus.positions([guid])
    assert.equal(end?.offset, 2, 'written, but not acknowledged')
    assert.deepEqual(durability.warnings(), [
      'no replica of Redis confirms writes in time (PUBLISH_WAIT=replicas): connect a replica, or restart it'
    ])
    await rejects(bus.publish([entry(guid, 3)]), 'unavailable')
    await rejects(stream.append(message(guid, 2)), 'unavailable')
    assert.deepEqual(await bus.positions([guid]), [end], 'nothing was written')
    assert.equal((await stream.state()).records, 1)
    // what is not kept waits for nothing, and access is revoked in any case
    await bus.publish([entry(guid, 'cursor', { ephemeral: true })])
    const { publication } = entry(guid, 'revoke', { operator: 'revoke', uid: 'u' })
    await rejects(bus.publish([{ publication }]), 'timeout')
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 1, JSON.stringify(lines))
    assert.ok(await count('unknown') >= 4)
    assert.equal(await count('refused'), 2)

    await replica.kill('SIGCONT')
    await waitFor(() => durability.warnings().length === 0, { timeout: 10_000, message: 'the replica to be back' })
    // an acknowledgement may be late on a busy machine; the entry is in the log once
    const [{ position }] = await waitFor(() => bus.publish([entry(guid, 3, { idempotencyKey: 'again' })]))
    assert.equal(position?.offset, 3)
  })

  test('a write is not acknowledged by the replica of another server: the master has been demoted and promoted meanwhile', async (t) => {
    const other = await startRedis()
    t.after(() => other.stop())
    const otherAdmin = adminOf(t, other)
    const { durability, redis, bus } = await open(t, master.url)
    const guid = fresh()
    await rejects(durability.confirmed([documentMeta(guid)], async () => {
      await redis.client.set('written', '1')
      await replicate(masterAdmin, other)
      await masterAdmin.call('REPLICAOF', 'NO', 'ONE')
      await waitFor(async () => /connected_slaves:1/.test(await masterAdmin.info('replication')), { timeout: 20_000 })
      assert.equal(await masterAdmin.get('written'), null, 'the write is lost')
      await waitFor(async () => /master_link_status:up/.test(await replicaAdmin.info('replication')), { timeout: 20_000 })
    }), 'timeout')
    assert.ok(await otherAdmin.ping())
    // the new generation is learned
    await waitFor(() => bus.publish([entry(guid, 1)]).then(() => true), { timeout: 10_000 })
  })

  test('a write is not acknowledged after its connection was lost', async (t) => {
    const { durability, redis } = await open(t, master.url)
    await rejects(durability.confirmed(['k'], async () => {
      await killWaiting()
      await waitFor(async () => (await waitingIds()).length === 2)
    }), 'timeout')
    assert.ok(redis.ready)
    await waitFor(() => durability.confirmed(['k'], async () => true))
  })

  test('those that come while a call waits are answered in time as well', async (t) => {
    const clock = manualClock()
    const { bus, pending } = await open(t, master.url, { timeout: 2000, clock })
    await replica.kill('SIGSTOP')
    t.after(() => replica.kill('SIGCONT'))
    const first = rejects(bus.publish([entry(fresh(), 1)]), 'timeout')
    await waitFor(async () => await pending() === 1)
    clock.advance(1000)
    const second = rejects(bus.publish([entry(fresh(), 1)]), 'timeout')
    await waitFor(async () => await pending() === 2)
    clock.advance(1000)
    clock.turn()
    await first
    assert.equal(await pending(), 1)
    // if the second one began its wait when the first one has ended, it would take 1 s more
    clock.advance(1000)
    clock.turn()
    await second
  })

  test('the next publication after a timeout is refused, also while Redis still owes the answer', async (t) => {
    const { durability } = await open(t, master.url)
    t.after(() => master.kill('SIGCONT'))
    await rejects(durability.confirmed(['k'], () => master.kill('SIGSTOP')), 'timeout')
    await rejects(durability.confirmed(['k'], async () => assert.fail('written')), 'unavailable')
    await master.kill('SIGCONT')
    await waitFor(() => durability.warnings().length === 0, { timeout: 10_000, message: 'Redis to confirm again' })
  })

  test('an answer that came in time counts, also if this process reads it too late', async (t) => {
    t.after(() => master.kill('SIGCONT'))
    // on a busy machine Redis or its replica may pause, and the answer comes too late
    await waitFor(async () => {
      const { durability } = await open(t, master.url)
      const sent = waitsSent(t)
      const confirmed = durability.confirmed(['k'], () => master.kill('SIGSTOP'))
      confirmed.catch(() => {}) // awaited below
      await waitFor(() => sent().length > 0)
      await immediate() // timers run next, before anything is read
      const continued = master.kill('SIGCONT')
      for (const end = performance.now() + 2 * TIMEOUT; performance.now() < end;);
      await continued
      await confirmed
      return true
    }, { timeout: 10_000 })
  })

  test('without a connection that waits nothing is written, and this is named as the reason', async (t) => {
    const { durability } = await open(t, master.url)
    t.after(() => masterAdmin.config('SET', 'maxclients', 10_000))
    await rejects(durability.confirmed(['k'], async () => {
      await masterAdmin.config('SET', 'maxclients', 1)
      await killWaiting()
    }), 'timeout')
    await waitFor(() => assert.rejects(durability.confirmed(['k'], async () => assert.fail('written')), {
      code: 'unavailable', message: /there is no connection to Redis/
    }).then(() => true))
    assert.match(durability.warnings()[0], /there is no connection to Redis/)
  })

  test('the documented Redis user may wait; without the permission the start says which one is missing', async (t) => {
    await masterAdmin.call('ACL', 'SETUSER', 'inkcast', 'on', '>secret', ...ALL)
    const url = master.url.replace('redis://', 'redis://inkcast:secret@')
    await (await open(t, url, PATIENT)).bus.publish([entry(fresh(), 1)])
    await masterAdmin.call('ACL', 'SETUSER', 'inkcast', '-wait')
    await assert.rejects(open(t, url), {
      message: /^PUBLISH_WAIT=replicas: the Redis user lacks a permission of docs\/operations\/redis.md \(NOPERM .*'wait'/
    })
  })

  test('a stop ends the waits', async (t) => {
    const { bus, durability } = await open(t, master.url, PATIENT)
    await replica.kill('SIGSTOP')
    t.after(() => replica.kill('SIGCONT'))
    const publications = range(3).map((i) => rejects(bus.publish([entry(fresh(), i)]), 'timeout'))
    await waitFor(async () => Number(/blocked_clients:(\d+)/.exec(await masterAdmin.info('clients'))?.[1]) > 0)
    durability.stop()
    await Promise.all(publications)
    await rejects(durability.confirmed(['k'], async () => assert.fail('written')), 'unavailable')
  })
})

test('PUBLISH_WAIT=replicas on a Redis without a replica: starts, refuses, and says what to do', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const { bus, durability } = await open(t, server.url)
  assert.match(durability.warnings()[0], /connect a replica/)
  await rejects(bus.publish([entry(fresh(), 1)]), 'unavailable')
})

test('PUBLISH_WAIT=replicas on Redis Cluster: each document waits for the replica of its own node', async (t) => {
  const cluster = await startRedisCluster()
  t.after(() => cluster.stop())
  const [{ port, busPort }] = await clusterAddresses(1)
  const replica = await startRedis({ port, args: clusterArgs(busPort) })
  t.after(() => replica.stop())
  const [first, admin] = [cluster.nodes[0], replica].map((server) => adminOf(t, server))
  await first.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  await waitFor(async () => /cluster_known_nodes:4/.test(String(await first.cluster('INFO'))), { timeout: 20_000 })
  const early = await open(t, cluster.url)
  assert.equal(early.redis.topology.nodes().length, 3, 'a master without hash slots confirms nothing')
  const own = String(await first.cluster('MYID'))
  await waitFor(() => admin.call('CLUSTER', 'REPLICATE', own), { timeout: 20_000 })
  await waitFor(async () => /master_link_status:up/.test(await admin.info('replication')), { timeout: 20_000 })

  const { bus, durability, redis } = await open(t, cluster.url, PATIENT)
  assert.equal(durability.warnings().length, 1)
  /** @param {string} guid */
  const nodeOf = (guid) => redis.topology.nodeOf(hashSlot(documentMeta(guid)))
  const here = `127.0.0.1:${cluster.nodes[0].port}`
  const guids = range(60).map(() => fresh())
  await Promise.all(guids.filter((guid) => nodeOf(guid) === here).map((guid) => bus.publish([entry(guid, 1)])))
  for (const guid of guids.filter((guid) => nodeOf(guid) !== here).slice(0, 5))
    await rejects(bus.publish([entry(guid, 1)]), 'unavailable')

  // a hash slot that moves: nothing is written until its document is on one node
  const guid = /** @type {string} */ (guids.find((guid) => nodeOf(guid) === here))
  const slot = hashSlot(documentMeta(guid))
  const secondAdmin = adminOf(t, cluster.nodes[1])
  await secondAdmin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', own)
  await first.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(await secondAdmin.cluster('MYID')))
  await rejects(bus.publish([entry(guid, 2)]), 'unavailable')
  assert.equal(await first.hget(documentMeta(guid), 'o'), '1')
})

describe('PUBLISH_WAIT=fsync', () => {
  test('is refused at the start by Redis before 7.2, with what to do', { skip: skipOld }, (t) =>
    assert.rejects(open(t, master.url, { mode: 'fsync' }), {
      message: /^PUBLISH_WAIT=fsync needs Redis 7\.2 or later \(WAITAOF\), this is 7\.0\.\d+: upgrade Redis, or set/
    })
  )

  test('is refused at the start without an append-only file, with what to do', { skip }, async (t) => {
    const without = await startRedis({ program })
    t.after(() => without.stop())
    await assert.rejects(open(t, without.url, { mode: 'fsync' }), { message: /needs the append-only file of Redis: set/ })
  })

  test('an acknowledged publication survives a kill of Redis', { skip }, async (t) => {
    const { bus, stream, redis } = await open(t, onDisk.url, { ...PATIENT, mode: 'fsync' })
    const guids = range(50).map(() => fresh())
    await Promise.all(guids.map((guid, i) => bus.publish([entry(guid, i)])))
    await stream.append(message('d'))
    await onDisk.kill('SIGKILL')
    await onDisk.restart()
    await waitFor(async () => (await redis.client.dbsize()) > 0, { timeout: 10_000 })
    for (const guid of guids) assert.equal(await redis.client.hget(documentMeta(guid), 'o'), '1')
    assert.equal((await stream.state()).records, 1)
    await waitFor(() => bus.publish([entry(fresh(), 1)]).then(() => true), { timeout: 10_000 })
  })

  test('a disk that does not confirm in time: answered in time, and refused', { skip }, async (t) => {
    const { bus } = await open(t, onDisk.url, { mode: 'fsync' })
    const guid = fresh()
    await (await open(t, onDisk.url, { ...PATIENT, mode: 'fsync' })).bus.publish([entry(guid, 1)])
    await diskAdmin.config('SET', 'appendfsync', 'no')
    t.after(() => diskAdmin.config('SET', 'appendfsync', 'always'))
    await rejects(bus.publish([entry(guid, 2)]), 'timeout')
    await waitFor(() => bus.publish([entry(guid, 3)]).then(() => false, ({ code }) => code === 'unavailable'))
    await diskAdmin.config('SET', 'appendfsync', 'always')
    await waitFor(() => bus.publish([entry(guid, 4)]).then(() => true), { timeout: 10_000 })
  })
})
