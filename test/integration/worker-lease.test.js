import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { systemRandom } from '../../src/common/random.js'
import { systemClock } from '../../src/common/clock.js'
import { systemHost } from '../../src/process/host.js'
import { createWorkerLease } from '../../src/workers/worker-lease.js'
import { MAX_WORKERS } from '../../src/wire/session-id.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { startOwnRedis } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

/** A test that needs no end of a lease: a process that stalls keeps its number. */
const LONG = 60_000
/** Renewed after a second: a test may act on the lease before that. */
const RENEWED_SOON = 3000

const { server, redis, log, lines } = await startOwnRedis('lease')

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * Starts a process, for leases whose process dies.
 * @param {TestContext} t
 */
function someProcess (t) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  t.after(() => { child.kill('SIGKILL') })
  return {
    pid: /** @type {number} */ (child.pid),
    async kill () {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

/**
 * @param {TestContext} t
 * @param {{ slot?: string, pid?: number, machine?: string, peer?: { host: string, port: number, tls: boolean },
 *   leaseTime?: number }} [options]
 */
function newLease (
  t, { slot = randomUUID(), pid = process.pid, machine = 'here', peer, leaseTime = LONG } = {}
) {
  const state = { lost: false }
  const lease = createWorkerLease({
    redis,
    slot,
    address: { machine, pid, path: `/run/${slot}.sock`, ...peer && { peer } },
    onLost: () => {
      state.lost = true
    },
    log,
    leaseTime,
    clock: systemClock,
    random: systemRandom
  })
  t.after(() => lease.stop())
  return { lease, state }
}

/** @param {TestContext} t @param {Parameters<typeof newLease>[1]} [options] */
async function claim (t, options) {
  const claimed = newLease(t, options)
  await claimed.lease.start()
  return claimed
}

/** Expires a lease, as if its process had hung for too long. @param {number} number */
const expire = (number) => redis.client.zrem('inkcast:{workers}:expiry', String(number))

describe('a worker number', () => {
  test('is the lowest free one, and after its release kept for its slot', async (t) => {
    const leases = []
    for (let i = 0; i < 4; i++) leases.push((await claim(t, { slot: `slot-${i}` })).lease)
    assert.deepEqual(leases.map(({ number }) => number), [0, 1, 2, 3])
    await leases[1].stop()
    await leases[2].stop()
    assert.equal(await leases[0].owner(1), undefined)
    assert.equal((await claim(t)).lease.number, 4, 'the process of the slot may be restarting')
    assert.equal((await claim(t, { slot: 'slot-1', machine: 'another container' })).lease.number, 1)
    // 5 minutes later
    await redis.client.del('inkcast:{workers}:ending')
    await redis.client.zadd('inkcast:{workers}:ended', Date.now() - 301_000, '2.1')
    assert.equal((await claim(t)).lease.number, 2)
    assert.equal((await claim(t, { slot: 'slot-2' })).lease.number, 5)
    assert.deepEqual(
      Object.values(await redis.client.hgetall('inkcast:{workers}:slots')).map(Number).sort(),
      [0, 1, 2, 3, 4, 5],
      'a number is remembered for one slot'
    )
  })

  test('is taken back at once from a killed container whose address for other machines this process has', async (t) => {
    const peer = { host: '10.0.0.7', port: 3100, tls: false }
    await claim(t)
    const { lease: killed, state } = await claim(t, { slot: 'pod-0:0', peer, machine: 'one container' })
    assert.equal(killed.number, 1)
    for (const other of [undefined, { ...peer, host: '10.0.0.8' }, { ...peer, port: 3101 }]) {
      const { lease } = await claim(t, { slot: 'pod-0:0', peer: other, machine: 'another one' })
      assert.notEqual(lease.number, 1, 'it may be a copy')
      await lease.stop()
      await redis.client.hset('inkcast:{workers}:slots', 'pod-0:0', '1')
    }
    const { lease } = await claim(t, { slot: 'pod-0:0', peer, machine: 'the next container' })
    assert.equal(lease.number, 1)
    assert.equal(state.lost, false, 'not yet')
  })

  test('is kept by renewal, and points other workers to its owner', async (t) => {
    const leaseTime = 600
    const { lease, state } = await claim(t, { slot: 'gateway-0', leaseTime })
    const other = await claim(t)
    const end = Date.now() + 2.5 * leaseTime
    await waitFor(async () => {
      assert.equal((await other.lease.owner(0))?.path, '/run/gateway-0.sock')
      return Date.now() > end
    }, { timeout: 10_000 })
    assert.equal(lease.number, 0)
    assert.equal(state.lost, false)
    assert.equal(await other.lease.owner(2), undefined)
  })

  test('without renewals becomes free after the lease time, and not before', async (t) => {
    const { pid, kill } = someProcess(t)
    await claim(t, { pid, leaseTime: 2000 })
    // disconnected: it neither renews nor releases
    const renew = redis.scripts.renew
    t.after(() => { redis.scripts.renew = renew })
    redis.scripts.renew = async (keys, args) => args[0] === 0 ? Promise.reject(new Error('cut off')) : renew(keys, args)
    await kill()
    assert.equal((await claim(t)).lease.number, 1, 'not yet available to another slot')
    const { lease } = await claim(t)
    await waitFor(async () => await lease.owner(0) === undefined, { timeout: 10_000, message: 'the lease to end' })
    assert.equal((await claim(t)).lease.number, 0)
  })

  test('goes to the next process of the same slot at once when the previous one is dead, and not while it runs', async (t) => {
    const first = someProcess(t)
    const { lease: old } = await claim(t, { slot: 'gateway-7', pid: first.pid })
    assert.equal(old.number, 0)
    await claim(t)

    const second = someProcess(t)
    const { lease: beside } = await claim(t, { slot: 'gateway-7', pid: second.pid })
    assert.equal(beside.number, 2, 'the first one is running')
    await second.kill()
    assert.equal(
      (await claim(t, { slot: 'gateway-7', machine: 'elsewhere' })).lease.number,
      3,
      'the state of a process on another machine is unknown'
    )
  })

  test('goes to the same slot again after a kill', async (t) => {
    const killed = someProcess(t)
    await claim(t)
    assert.equal((await claim(t, { slot: 'gateway-7', pid: killed.pid })).lease.number, 1)
    await killed.kill()
    assert.equal((await claim(t)).lease.number, 2, 'not available to another slot')
    const { lease } = await claim(t, { slot: 'gateway-7' })
    assert.equal(lease.number, 1)
    assert.equal((await lease.owner(1))?.pid, process.pid)
  })

  test(
    'has one owner with 50 concurrent claims, and with 50 that are released and claimed again',
    { timeout: 90_000 },
    async (t) => {
      const all = await Promise.all(Array.from({ length: 50 }, () => claim(t)))
      assert.deepEqual(
        all.map(({ lease }) => lease.number).sort((a, b) => a - b),
        Array.from({ length: 50 }, (_, i) => i)
      )
      /** @type {Set<number>} */
      const held = new Set(all.map(({ lease }) => lease.number))
      await Promise.all(
        all.map(async ({ lease }) => {
          for (let round = 0, current = lease; round < 10; round++) {
            // released from here on: the next owner may have it before stop() resolves
            held.delete(current.number)
            await current.stop()
            current = (await claim(t)).lease
            assert.equal(held.has(current.number), false, `${current.number} has two owners`)
            held.add(current.number)
          }
        })
      )
      assert.equal(held.size, 50)
      assert.ok(all.every(({ state }) => !state.lost))
    }
  )

  test('taken over by another worker is reported to the previous owner, once', async (t) => {
    const { state } = await claim(t, { leaseTime: RENEWED_SOON })
    await expire(0)
    const thief = await claim(t)
    assert.equal(thief.lease.number, 0)
    await waitFor(() => state.lost, { message: 'the previous owner to be notified' })
    assert.equal(lines.filter(({ level }) => level === 'fatal').length, 1)
    assert.equal(thief.state.lost, false)
  })

  test('is not released by a worker that has lost it', async (t) => {
    const { lease, state } = await claim(t, { leaseTime: RENEWED_SOON })
    await expire(0)
    const thief = await claim(t)
    await waitFor(() => state.lost)
    await lease.stop()
    assert.ok(await thief.lease.owner(0), 'the new owner keeps it')
  })

  test('is registered again when Redis has lost its data, with the same secret', async (t) => {
    const { lease, state } = await claim(t, { leaseTime: RENEWED_SOON })
    const [secret] = lease.secrets
    await redis.client.flushall()
    await waitFor(async () => await lease.owner(0) !== undefined, { message: 'the owner' })
    assert.equal(state.lost, false)
    const other = await claim(t)
    assert.equal(other.lease.number, 1)
    assert.equal(other.lease.secrets[0], secret)
    assert.equal(lease.secrets[0], secret)
  })

  test('stays with its worker while Redis is unavailable', { timeout: 90_000 }, async (t) => {
    const { lease, state } = await claim(t, { leaseTime: RENEWED_SOON })
    await server.kill()
    await waitFor(() => lines.some(({ text }) => text.includes('could not be renewed')), {
      timeout: 10_000,
      message: 'a renewal to fail'
    })
    assert.equal(lease.number, 0)
    await server.restart()
    await waitFor(async () => (await lease.owner(0).catch(() => undefined)) !== undefined, {
      timeout: 10_000,
      message: 'the owner'
    })
    assert.equal(state.lost, false)
    assert.equal((await claim(t)).lease.number, 1)
  })

  test(
    'is renewed when Redis is back after more than the lease time, and is not held until then',
    { timeout: 90_000 },
    async (t) => {
      // no regular renewal: it must not be what restores the lease
      const regular = t.mock.method(systemClock, 'every', () => ({ stop () {}, unref () { return this } }))
      const { lease } = await claim(t, { leaseTime: RENEWED_SOON })
      regular.mock.restore()
      assert.equal(regular.mock.callCount(), 1)
      assert.equal(lease.held, true)
      await server.kill()
      await waitFor(() => !lease.held, { timeout: 15_000, message: 'the lease to end' })
      await server.restart()
      await waitFor(() => redis.ready, { timeout: 10_000, message: 'Redis' })
      await waitFor(() => lease.held, { message: 'the lease' })
      assert.notEqual(await lease.owner(0), undefined)
      await lease.stop()
      assert.equal(lease.held, false)
    }
  )

  test('is refused when all are in use', async (t) => {
    const until = String(Date.now() + 60_000)
    const owner = JSON.stringify({ machine: 'elsewhere', pid: 1, path: '', slot: 'x', token: 'x' })
    const batch = redis.client.pipeline()
    for (let number = 0; number < MAX_WORKERS; number++)
      batch
        .zadd('inkcast:{workers}:expiry', until, String(number))
        .hset('inkcast:{workers}:owners', String(number), owner)
    await batch.exec()
    await assert.rejects(claim(t), { code: 'unavailable', message: `all ${MAX_WORKERS} worker numbers are taken` })
    await expire(4000)
    assert.equal((await claim(t)).lease.number, 4000)
  })
})

test('all workers have one secret, also when they start at the same time', async (t) => {
  const leases = await Promise.all(Array.from({ length: 20 }, () => claim(t)))
  assert.equal(new Set(leases.map(({ lease }) => lease.secrets[0])).size, 1)
  assert.match(leases[0].lease.secrets[0], /^[\w-]{43}$/)
})

test('after a data loss in Redis two secrets become one, and the other is accepted for a while', async (t) => {
  const { lease } = await claim(t, { leaseTime: RENEWED_SOON })
  const [before] = lease.secrets
  await redis.client.set('inkcast:{workers}:secret', 'another')
  await waitFor(() => lease.secrets[0] === 'another', { message: () => lease.secrets })
  assert.deepEqual(lease.secrets, ['another', before])
})

test(
  'a gateway worker whose number has another owner restarts with another number',
  { timeout: 180_000 },
  async (t) => {
    const cluster = await startCluster(t, { WORKERS: '1', REDIS_URL: server.url })
    const before = await connectClient(t, cluster.url)
    assert.equal(before.id?.slice(0, 2), 'AA')
    const [{ pid }] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
    await redis.client.hset(
      'inkcast:{workers}:owners',
      '0',
      JSON.stringify({ machine: systemHost.machine, pid: process.pid, path: '/none', slot: 'thief', token: 'thief' })
    )
    await redis.client.zadd('inkcast:{workers}:expiry', String(Date.now() + 60_000), '0')
    await before.next('disconnect')
    await waitFor(
      async () => {
        const workers = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
        return workers.length === 1 && workers[0].pid !== pid && (await cluster.ready())
      },
      { timeout: 15_000, message: 'a new worker' }
    )
    assert.equal((await connectClient(t, cluster.url)).id?.slice(0, 2), 'AB')
    assert.match(cluster.output(), /another worker has this worker's number/)
  }
)
