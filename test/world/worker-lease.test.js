import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { MAX_WORKERS } from '../../src/wire/session-id.js'
import { LEASE_TIME, WorkerLease } from '../../src/people/workers/worker-lease.js'
import { Presence } from '../../src/people/presence/presence.js'
import { RedisPresence } from '../../src/people/presence/redis-presence.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { WorkerWatch } from '../../src/people/workers/worker-watch.js'
import { startPart, together } from '../simulation/script/part.js'

const { workers: WORKERS } = createKeys()

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/part.js').Part} Part
 * @typedef {{ slot?: string, machine?: string, peer?: { host: string, port: number, tls: boolean } }} Place
 */

/** Time within which each lease has been renewed, ms. */
const RENEWED = LEASE_TIME / 2

/** Workers that only have a number. */
class Workers {
  #count = 0

  /** @param {ScriptedCluster} cluster */
  constructor (cluster) {
    this.cluster = cluster
    const { machines } = cluster.cluster
    this.machine = (/** @type {string} */ name) =>
      machines.find((one) => one.name === name) ?? machines[machines.push({ name, step: 0 }) - 1]
  }

  /**
   * A process without a number.
   * @param {Place} [place] default: a slot of its own
   */
  async process ({ slot = `slot-of-${++this.#count}`, machine = 'here', peer } = {}) {
    const part = await startPart(this.cluster, slot, this.machine(machine))
    const { process: { pid }, redis, log, clock, random, host: { isAlive } } = part
    const state = { lost: 0 }
    const newLease = () => new WorkerLease({
      redis, slot, isAlive, log, clock, random,
      address: { machine, pid, path: `/run/${slot}.sock`, ...peer && { peer } },
      onLost: () => { state.lost++ }
    })
    return { ...part, state, newLease, lease: newLease() }
  }

  /** @param {Place} [place] */
  async claim (place) {
    const worker = await this.process(place)
    await worker.act(() => worker.lease.start())
    return worker
  }

  /** @param {number} count of processes that claim a number at the same time */
  async claimAtOnce (count) {
    /** @type {Awaited<ReturnType<Workers['process']>>[]} */
    const workers = []
    for (let i = 0; i < count; i++) workers.push(await this.process())
    await together(this.cluster, workers, (_, i) => workers[i].lease.start())
    return workers
  }
}

/** @param {(scene: { cluster: ScriptedCluster, workers: Workers }) => Promise<void>} play */
const withWorkers = (play) => () =>
  inCluster({ machines: 0 }, (cluster) => play({ cluster, workers: new Workers(cluster) }))

/** @typedef {Awaited<ReturnType<Workers['claim']>>} Worker */
/** @param {Worker} worker @param {number} number */
const ownerOf = ({ act, lease }, number) => act(() => lease.owner(number))
/** @param {Worker} worker */
const stop = ({ act, lease }) => act(() => lease.stop())
/** Ends a lease, as if its process had hung for too long. @param {ScriptedCluster} cluster @param {number} number */
const expire = (cluster, number) => cluster.command('ZREM', WORKERS.expiry, number)

describe('a worker number', () => {
  test('is claimed when Redis is back, if it is lost during the start, like all that a start reads', withWorkers(async ({
    cluster, workers
  }) => {
    const worker = await workers.process()
    const { process, redis, log, clock, random, act } = worker
    const metrics = createMetrics({ processMetrics: false })
    const presence = () => new Presence({ log, metrics, clock, random }, {
      settings: { maxMembers: 10, maxStateBytes: 100, grace: 0 },
      store: new RedisPresence({ redis, maxMembers: 10, workerNumber: worker.lease.number, metrics, log, clock }),
      createDelivery: () => assert.fail('there is no member')
    })
    const parts = [() => worker.lease, () => new WorkerWatch({ redis, log, grace: 0, clock, random }), presence]
    for (const part of parts) {
      const began = cluster.time
      cluster.cutOff(process, 'redis', 5000)
      await act(() => part().start())
      assert.ok(cluster.time - began >= 5000, `it started after ${cluster.time - began} ms, without Redis`)
    }
    assert.deepEqual([worker.lease.number, worker.lease.held], [0, true])
    const waits = worker.lines.filter(({ text }) => text.endsWith('the start waits for redis'))
    assert.equal(waits.length, parts.length, 'one line for each part')
  }))

  test('is not waited for by a process that stops', withWorkers(async ({ cluster, workers }) => {
    const { process, lease, act } = await workers.process()
    cluster.cutOff(process, 'redis', 60_000)
    /** @type {unknown} */
    let ended
    process.enter('start', () => lease.start().catch((error) => { ended = error }))
    await cluster.pass(5000)
    assert.equal(ended, undefined)
    await act(() => lease.stop())
    await cluster.until(() => ended !== undefined, { timeout: 1000 })
  }))

  test('is the lowest free one, and after its release kept for its slot', withWorkers(async ({ cluster, workers }) => {
    /** @type {Worker[]} */
    const all = []
    for (let i = 0; i < 4; i++) all.push(await workers.claim({ slot: `slot-${i}` }))
    assert.deepEqual(all.map(({ lease }) => lease.number), [0, 1, 2, 3])
    await stop(all[1])
    await stop(all[2])
    assert.equal(await ownerOf(all[0], 1), undefined)
    assert.equal((await workers.claim()).lease.number, 4, 'the process of the slot may be restarting')
    assert.equal((await workers.claim({ slot: 'slot-1', machine: 'another container' })).lease.number, 1)
    // a cluster always has a process that notes ends
    const { redis, log, clock, random, act } = await startPart(cluster, 'watch')
    await act(() => new WorkerWatch({ redis, log, grace: 0, clock, random }).start())
    await cluster.pass(299_000)
    assert.equal((await workers.claim()).lease.number, 5)
    await cluster.pass(3000)
    assert.equal((await workers.claim()).lease.number, 2)
    assert.equal((await workers.claim({ slot: 'slot-2' })).lease.number, 6)
    assert.deepEqual(
      (await cluster.command('HVALS', WORKERS.slots)).map(Number).sort(), [0, 1, 2, 3, 4, 5, 6],
      'a number is remembered for one slot'
    )
  }))

  test('is taken back at once from a killed container whose address for other machines this process has',
    withWorkers(async ({ cluster, workers }) => {
      const peer = { host: '10.0.0.7', port: 3100, tls: false }
      await workers.claim()
      const { lease: killed, state } = await workers.claim({ slot: 'pod-0:0', peer, machine: 'one container' })
      assert.equal(killed.number, 1)
      for (const other of [undefined, { ...peer, host: '10.0.0.8' }, { ...peer, port: 3101 }]) {
        const worker = await workers.claim({ slot: 'pod-0:0', peer: other, machine: 'another one' })
        assert.notEqual(worker.lease.number, 1, 'it may be a copy')
        await stop(worker)
        await cluster.command('HSET', WORKERS.slots, 'pod-0:0', 1)
      }
      const { lease } = await workers.claim({ slot: 'pod-0:0', peer, machine: 'the next container' })
      assert.equal(lease.number, 1)
      assert.equal(state.lost, 0, 'not yet')
    }))

  test('is kept by renewal, and points other workers to its owner', withWorkers(async ({ cluster, workers }) => {
    const { lease, state } = await workers.claim({ slot: 'gateway-0' })
    const other = await workers.claim()
    for (let i = 0; i < 10; i++) {
      assert.equal((await ownerOf(other, 0))?.path, '/run/gateway-0.sock')
      await cluster.pass(LEASE_TIME / 3)
    }
    assert.deepEqual([lease.number, lease.held, state.lost], [0, true, 0])
    assert.equal(await ownerOf(other, 2), undefined)
  }))

  test('without renewals becomes free after the lease time, and not before', withWorkers(async ({ cluster, workers }) => {
    const { process } = await workers.claim()
    await cluster.pass(LEASE_TIME / 2)
    process.end(null)
    // renewed at most a third of the lease time ago
    await cluster.pass(LEASE_TIME * 0.6)
    const other = await workers.claim()
    assert.equal(other.lease.number, 1, 'not yet available to another slot')
    assert.notEqual(await ownerOf(other, 0), undefined)
    await cluster.pass(LEASE_TIME * 0.4)
    assert.equal(await ownerOf(other, 0), undefined)
    assert.equal((await workers.claim()).lease.number, 0)
  }))

  test('goes to the next process of the same slot at once when the previous one is dead, and not while it runs',
    withWorkers(async ({ workers }) => {
      await workers.claim({ slot: 'gateway-7' })
      await workers.claim()
      const second = await workers.claim({ slot: 'gateway-7' })
      assert.equal(second.lease.number, 2, 'the first one is running')
      second.process.end(null)
      assert.equal((await workers.claim({ slot: 'gateway-7', machine: 'elsewhere' })).lease.number, 3,
        'the state of a process on another machine is unknown')
    }))

  test('goes to the same slot again after a kill', withWorkers(async ({ workers }) => {
    await workers.claim()
    const killed = await workers.claim({ slot: 'gateway-7' })
    assert.equal(killed.lease.number, 1)
    killed.process.end(null)
    assert.equal((await workers.claim()).lease.number, 2, 'not available to another slot')
    const next = await workers.claim({ slot: 'gateway-7' })
    assert.equal(next.lease.number, 1)
    assert.equal((await ownerOf(next, 1))?.pid, next.process.pid)
  }))

  test('has one owner with 50 concurrent claims, and with 50 that are released and claimed again',
    withWorkers(async ({ cluster, workers }) => {
      const all = await workers.claimAtOnce(50)
      assert.deepEqual(
        all.map(({ lease }) => lease.number).sort((a, b) => a - b),
        Array.from({ length: 50 }, (_, i) => i)
      )
      /** @type {Set<number>} */
      const held = new Set(all.map(({ lease }) => lease.number))
      await together(cluster, all, async (_, i) => {
        for (let round = 0, current = all[i].lease; round < 3; round++) {
          // released from here on: the next owner may have it before stop() resolves
          held.delete(current.number)
          await current.stop()
          current = all[i].newLease()
          await current.start()
          assert.equal(held.has(current.number), false, `${current.number} has two owners`)
          held.add(current.number)
        }
      })
      assert.equal(held.size, 50)
      assert.ok(all.every(({ state }) => state.lost === 0))
    }))

  test('taken over by another worker is reported to the previous owner once, which does not release it',
    withWorkers(async ({ cluster, workers }) => {
      const before = await workers.claim()
      await expire(cluster, 0)
      const thief = await workers.claim()
      assert.equal(thief.lease.number, 0)
      await cluster.pass(RENEWED)
      assert.deepEqual([before.state.lost, before.lease.held], [1, false])
      await cluster.pass(LEASE_TIME)
      assert.equal(before.state.lost, 1)
      assert.equal(before.lines.filter(({ level }) => level === 'fatal').length, 1)
      assert.equal(thief.state.lost, 0)
      await stop(before)
      assert.ok(await ownerOf(thief, 0), 'the new owner keeps it')
    }))

  test('is registered again when Redis has lost its data, with the same secret', withWorkers(async ({ cluster, workers }) => {
    const worker = await workers.claim()
    const [secret] = worker.lease.secrets
    await cluster.command('FLUSHALL')
    await cluster.pass(RENEWED)
    assert.notEqual(await ownerOf(worker, 0), undefined)
    assert.equal(worker.state.lost, 0)
    const other = await workers.claim()
    assert.equal(other.lease.number, 1)
    assert.equal(other.lease.secrets[0], secret)
    assert.equal(worker.lease.secrets[0], secret)
  }))

  for (const [how, hasData] of /** @type {const} */ ([['has its data again', true], ['is empty', false]])) {
    test(`stays with its worker while Redis is unavailable for longer than the lease, is not held meanwhile, is renewed once Redis ${how}`,
      withWorkers(async ({ cluster, workers }) => {
        const worker = await workers.claim()
        const { redis, lease, state, lines } = worker
        const [server] = cluster.redis.servers
        server.restart(hasData ? server.store.snapshot() : undefined, 2 * LEASE_TIME)
        await cluster.until(() => lines.some(({ text }) => text.includes('could not be renewed')))
        assert.deepEqual([lease.number, lease.held], [0, true])
        await cluster.pass(LEASE_TIME)
        assert.deepEqual([lease.number, lease.held], [0, false])
        await cluster.until(() => redis.ready)
        // no regular renewal comes so soon
        await cluster.pass(100)
        assert.equal(lease.held, true)
        assert.notEqual(await ownerOf(worker, 0), undefined)
        assert.equal(state.lost, 0)
        assert.equal((await workers.claim()).lease.number, 1)
        await stop(worker)
        assert.equal(lease.held, false)
      }))
  }

  test('is refused when all are in use', withWorkers(async ({ cluster, workers }) => {
    const until = cluster.world.wall + 60_000
    const owner = JSON.stringify({ machine: 'elsewhere', pid: 1, path: '', slot: 'x', token: 'x' })
    const numbers = Array.from({ length: MAX_WORKERS }, (_, number) => number)
    await cluster.command('ZADD', WORKERS.expiry, ...numbers.flatMap((number) => [until, number]))
    await cluster.command('HSET', WORKERS.owners, ...numbers.flatMap((number) => [number, owner]))
    await assert.rejects(workers.claim(), { code: 'unavailable', message: `all ${MAX_WORKERS} worker numbers are taken` })
    await expire(cluster, 4000)
    assert.equal((await workers.claim()).lease.number, 4000)
  }))
})

test('all workers have one secret, also when they start at the same time', withWorkers(async ({ workers }) => {
  const all = await workers.claimAtOnce(20)
  assert.equal(new Set(all.map(({ lease }) => lease.secrets[0])).size, 1)
  assert.match(all[0].lease.secrets[0], /^[\w-]{43}$/)
}))

test('after a data loss in Redis two secrets become one, and the other is accepted for a while',
  withWorkers(async ({ cluster, workers }) => {
    const { lease } = await workers.claim()
    const [before] = lease.secrets
    await cluster.command('SET', WORKERS.secret, 'another')
    await cluster.pass(RENEWED)
    assert.deepEqual(lease.secrets, ['another', before])
  }))

test('a gateway worker whose number has another owner restarts with another number', () =>
  inCluster({ workers: 1 }, async (cluster) => {
    const [slot] = cluster.gateways
    const before = slot.running
    const client = await cluster.connect('ada')
    assert.equal(client.id?.slice(0, 2), 'AA')
    await cluster.command('HSET', WORKERS.owners, 0, JSON.stringify(
      { machine: 'm1', pid: before.process.pid, path: '/none', slot: 'thief', token: 'thief' }
    ))
    await cluster.command('ZADD', WORKERS.expiry, cluster.world.wall + 60_000, 0)
    await cluster.until(() => client.ends.length > 0)
    await cluster.until(() => slot.running !== before && slot.running.isReady && client.connected)
    assert.equal(client.id?.slice(0, 2), 'AB')
  }))
