import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createWorkerLease } from '../../src/workers/worker-lease.js'
import { createWorkerWatch, incarnationName, liveIncarnations } from '../../src/workers/worker-watch.js'
import { startOwnRedis } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

const LEASE_TIME = 600
// the claim is long: a process that stalls for longer loses it, and another one repeats the cleanup
const FAST = { leaseTime: LEASE_TIME, interval: 100, grace: 150, claimTime: 2500 }

const { server, redis, log } = await startOwnRedis('watch')

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * A worker's lease. By default it is long: that of a process that stalls does not end.
 * @param {TestContext} t
 * @param {{ slot?: string, leaseTime?: number, pid?: number }} [options]
 */
async function worker (t, { slot = randomUUID(), leaseTime = 60_000, pid = process.pid } = {}) {
  /** @type {number[]} */
  const reborn = []
  const lease = createWorkerLease({
    redis,
    slot,
    address: { machine: 'here', pid, path: '/run/x' },
    onLost: () => {},
    log,
    leaseTime,
    clock: systemClock,
    random: systemRandom
  })
  t.after(() => lease.stop())
  lease.onReborn((incarnation) => reborn.push(incarnation))
  await lease.start()
  return { lease, reborn, name: incarnationName(lease.number, lease.incarnation) }
}

/** A worker whose process was killed and no longer renews. @param {TestContext} t */
async function killed (t) {
  let renewals = 0
  const dying = {
    onBack: () => {},
    lost: () => {},
    hasLost: async () => false,
    scripts: {
      ...redis.scripts,
      renew: async (/** @type {string[]} */ keys, /** @type {any[]} */ args) =>
        renewals++ === 0 ? redis.scripts.renew(keys, args) : new Promise(() => {})
    }
  }
  const lease = createWorkerLease({
    redis: dying,
    slot: randomUUID(),
    address: { machine: 'here', pid: process.pid, path: '/run/x' },
    onLost: () => {},
    log,
    leaseTime: LEASE_TIME,
    clock: systemClock,
    random: systemRandom
  })
  await lease.start()
  t.after(() => { lease.stop() })
  return { lease, name: incarnationName(lease.number, lease.incarnation) }
}

/**
 * @param {TestContext} t
 * @param {(name: string) => Promise<void>} [clean]
 * @param {{ leaseTime?: number, interval?: number, grace?: number, claimTime?: number }} [times]
 */
async function watcher (t, clean, times = FAST) {
  /** @type {string[]} */
  const gone = []
  /** @type {string[]} */
  const cleaned = []
  const watch = createWorkerWatch({
    redis,
    onWorkerGone: [(number, incarnation) => gone.push(incarnationName(number, incarnation))],
    clean: async (number, incarnation) => {
      cleaned.push(incarnationName(number, incarnation))
      await clean?.(incarnationName(number, incarnation))
    },
    log,
    grace: FAST.grace,
    ...times,
    clock: systemClock,
    random: systemRandom
  })
  t.after(() => watch.stop())
  await watch.start()
  return { watch, gone, cleaned }
}

/**
 * Measures how late Redis replies.
 * @param {TestContext} t
 * @returns {() => number} the longest time until a reply, ms, the one in progress included
 */
function measureReplies (t) {
  const connection = new Redis(server.url)
  let longest = 0
  let sentAt = performance.now()
  let measuring = true
  const done = (async () => {
    await connection.ping()
    while (measuring) {
      sentAt = performance.now()
      await connection.ping()
      longest = Math.max(longest, performance.now() - sentAt)
      await delay(10)
    }
  })()
  t.after(async () => {
    measuring = false
    await done
    connection.disconnect()
  })
  return () => Math.max(longest, performance.now() - sentAt)
}

/** Ends of workers are known to all within this time, ms; docs/sessions.md. */
const KNOWN_WITHIN = 1200

describe('the end of a worker', () => {
  for (const [how, end] of /** @type {[string, (t: TestContext) => Promise<{ name: string, at: () => number }>][]} */ ([
    ['whose lease expires', async (t) => {
      const { lease, name } = await killed(t)
      const expiresAt = Number(await redis.client.zscore('inkcast:{workers}:expiry', String(lease.number)))
      return { name, at: () => expiresAt }
    }],
    ['whose number the next process takes', async (t) => {
      const slot = randomUUID()
      const { name } = await worker(t, { slot, pid: 2 ** 22 + 1 })
      await new Promise((resolve) => { setTimeout(resolve, 100) })
      const at = Date.now()
      await worker(t, { slot })
      return { name, at: () => at }
    }]
  ])) {
    test(`${how} is known to all processes within 1.2 s, at the intervals of production`, async (t) => {
      // the ones of a busy machine are no delay of the watch
      const stalls = monitorEventLoopDelay({ resolution: 10 })
      stalls.enable()
      const slowestReply = measureReplies(t)
      /** @type {Map<string, number>} */
      const knownAt = new Map()
      for (const name of ['one', 'two', 'three']) {
        const { watch, gone } = await watcher(t, undefined, {})
        t.after(() => watch.stop())
        gone.push = (...names) => { knownAt.set(`${name} ${names[0]}`, Date.now()); return 1 }
        await new Promise((resolve) => { setTimeout(resolve, 300) }) // they look at different times
      }
      const { name, at } = await end(t)
      const all = () => ['one', 'two', 'three'].map((watcher) => knownAt.get(`${watcher} ${name}`))
      await waitFor(() => all().every((time) => time !== undefined), { message: () => [...knownAt] })
      const slowest = Math.max(.../** @type {number[]} */ (all())) - at()
      const [stalled, replied] = [stalls.max / 1e6, slowestReply()]
      assert.ok(
        slowest <= KNOWN_WITHIN + stalled + replied,
        `${slowest} ms, of which up to ${stalled} ms are stalls of this process, and ${replied} ms of Redis`
      )
    })
  }

  test('is reported on every process, and cleaned up by one', async (t) => {
    const watchers = [await watcher(t), await watcher(t), await watcher(t)]
    const living = await worker(t)
    const dead = await killed(t)
    await waitFor(() => watchers.every(({ gone }) => gone.length > 0), { message: 'all to be notified' })
    await waitFor(() => watchers.some(({ cleaned }) => cleaned.length > 0), { message: 'one to clean up' })
    await waitFor(async () => (await redis.client.zcard('inkcast:{workers}:unclean')) === 0, {
      message: 'the cleanup to be complete'
    })
    for (const { gone } of watchers) assert.deepEqual(gone, [dead.name])
    assert.deepEqual(watchers.flatMap(({ cleaned }) => cleaned), [dead.name])
    assert.deepEqual(await liveIncarnations(redis, [living.name, dead.name]), new Set([living.name]))
  })

  test('is reported once for each of many, in the same order everywhere', async (t) => {
    const one = await watcher(t)
    const two = await watcher(t)
    const dead = await Promise.all(Array.from({ length: 20 }, () => worker(t)))
    await Promise.all(dead.map(({ lease }) => lease.stop()))
    await waitFor(() => one.gone.length >= 20 && two.gone.length >= 20, { message: 'all to be notified' })
    await waitFor(() => one.cleaned.length + two.cleaned.length >= 20, { message: 'all to be cleaned up' })
    assert.deepEqual(one.gone, two.gone)
    assert.deepEqual([...one.gone].sort(), dead.map(({ name }) => name).sort())
    assert.deepEqual([...one.cleaned, ...two.cleaned].sort(), dead.map(({ name }) => name).sort())
  })

  test('is reported at once when the next process takes its number, and that process counts as alive', async (t) => {
    const { gone } = await watcher(t)
    const slot = randomUUID()
    const first = await worker(t, { slot, pid: 2 ** 22 + 1 })
    const second = await worker(t, { slot })
    assert.equal(second.lease.number, first.lease.number)
    assert.ok(second.lease.incarnation > first.lease.incarnation)
    await waitFor(() => gone.length > 0)
    assert.deepEqual(gone, [first.name])
    assert.deepEqual(await liveIncarnations(redis, [first.name, second.name]), new Set([second.name]))
  })

  test('is reported for a worker that could not renew in time and continues as a new incarnation', async (t) => {
    const { gone } = await watcher(t)
    const { lease, reborn, name } = await worker(t, { leaseTime: 3000 })
    // as if it had hung for a lease time
    await redis.client.zadd('inkcast:{workers}:expiry', '1', String(lease.number))
    await waitFor(() => gone.length > 0 && reborn.length > 0, { message: 'its end and its return' })
    assert.deepEqual(gone, [name])
    assert.deepEqual(reborn, [lease.incarnation])
    const now = incarnationName(lease.number, lease.incarnation)
    assert.notEqual(now, name)
    assert.deepEqual(await liveIncarnations(redis, [name, now]), new Set([now]))
  })

  test('is not reported while Redis is unavailable or has lost its data', async (t) => {
    const { gone } = await watcher(t)
    const { lease, reborn } = await worker(t, { leaseTime: LEASE_TIME })
    await server.kill('SIGSTOP')
    await new Promise((resolve) => { setTimeout(resolve, 2 * LEASE_TIME) })
    await server.kill('SIGCONT')
    await waitFor(
      async () => Number(await redis.client.zscore('inkcast:{workers}:expiry', String(lease.number))) > Date.now(),
      { message: 'the lease to be renewed' }
    )
    await redis.client.flushall()
    await waitFor(
      async () =>
        (await redis.client.hget('inkcast:{workers}:incarnations', String(lease.number))) === String(lease.incarnation),
      { message: 'the lease to be registered again' }
    )
    await new Promise((resolve) => { setTimeout(resolve, LEASE_TIME) })
    assert.deepEqual(gone, [])
    assert.deepEqual(reborn, [])
  })
})

describe('state that an ended worker left behind', () => {
  test('is cleaned up by a retry after a failure', async (t) => {
    let failures = 3
    const { cleaned } = await watcher(t, async () => { if (failures-- > 0) throw new Error('not now') })
    const dead = await killed(t)
    await waitFor(async () => cleaned.length > 0 && (await redis.client.zcard('inkcast:{workers}:unclean')) === 0, {
      message: 'the cleanup to be complete'
    })
    assert.deepEqual(cleaned, Array(4).fill(dead.name))
  })

  test('is cleaned up by another process when the first one dies during the cleanup, and not before', async (t) => {
    const first = await watcher(t, () => new Promise(() => {}))
    const dead = await killed(t)
    await waitFor(() => first.cleaned.length > 0)
    const second = await watcher(t)
    // the first one is slow, but alive
    await new Promise((resolve) => { setTimeout(resolve, 2 * FAST.claimTime) })
    assert.deepEqual(second.cleaned, [])
    first.watch.stop()
    await waitFor(() => second.cleaned.length > 0)
    assert.deepEqual(second.cleaned, [dead.name])
    assert.deepEqual(second.gone, [], 'it ended before the second one started to watch')
  })

  test('stays until clients can no longer return, after an orderly end', async (t) => {
    let cleanedAt = 0
    const { gone, cleaned } = await watcher(t, async () => { cleanedAt = Date.now() })
    const { lease, name } = await worker(t)
    const before = Date.now()
    await lease.stop()
    await waitFor(() => gone.length > 0)
    await waitFor(() => cleaned.length > 0)
    assert.deepEqual(cleaned, [name])
    assert.ok(cleanedAt - before >= FAST.grace, `after ${cleanedAt - before} ms`)
  })
})
