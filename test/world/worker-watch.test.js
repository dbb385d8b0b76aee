import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { LEASE_TIME, WorkerLease } from '../../src/people/workers/worker-lease.js'
import { WorkerWatch, incarnationName, liveIncarnations } from '../../src/people/workers/worker-watch.js'
import { startPart, together } from '../simulation/script/part.js'

const { workers: WORKERS } = createKeys()

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** How long the state of a worker is kept after its last renewal, ms. */
const GRACE = 3000
/** Ends of workers are known to all within this time, ms; docs/sessions.md. */
const KNOWN_WITHIN = 1200
/** From the first cleanup to the second, ms. */
const AGAIN = 100_000
/** A cleanup that its process does not go on with is another one's after this time, ms. */
const CLAIM_TIME = 5000

class Scene {
  #count = 0
  #here = { name: 'here', step: 0 }

  /** @param {ScriptedCluster} cluster */
  constructor (cluster) { this.cluster = cluster }

  /** A worker that only has a lease. @param {{ slot?: string }} [options] default: a slot of its own */
  async worker ({ slot = `slot-${++this.#count}` } = {}) {
    const part = await startPart(this.cluster, `worker-${slot}`, this.#here)
    const { process: { pid }, redis, log, clock, random, host: { isAlive } } = part
    const lease = new WorkerLease({
      redis, slot, isAlive, log, clock, random, address: { machine: 'here', pid, path: '/run/x' }, onLost: () => {}
    })
    /** @type {number[]} */
    const reborn = []
    lease.onReborn((incarnation) => reborn.push(incarnation))
    await part.act(() => lease.start())
    return { ...part, lease, reborn, name: incarnationName(lease.number, lease.incarnation) }
  }

  /** @param {(name: string) => Promise<void>} [clean] */
  async watcher (clean) {
    const part = await startPart(this.cluster, `watcher-${++this.#count}`)
    /** @type {string[]} */
    const gone = []
    /** @type {{ name: string, at: number }[]} */
    const cleaned = []
    const { cluster } = this
    const { redis, log, clock, random } = part
    const watch = new WorkerWatch({
      redis, log, clock, random,
      grace: GRACE,
      onWorkerGone: [(number, incarnation) => { gone.push(incarnationName(number, incarnation)) }],
      clean: async (number, incarnation, _, isLast) => {
        const name = incarnationName(number, incarnation) + (isLast ? ' again' : '')
        cleaned.push({ name, at: cluster.time })
        await clean?.(name)
      }
    })
    await part.act(() => watch.start())
    // watchers of a cluster look at different times
    await cluster.pass(300)
    return { ...part, watch, gone, cleaned }
  }

  /** Ends that are to be cleaned up, those for the second time with a `~`. @returns {Promise<string[]>} */
  unclean () { return this.cluster.command('ZRANGE', WORKERS.unclean, 0, -1) }
}

/** @param {(scene: Scene) => Promise<void>} play */
const inScene = (play) => () => inCluster({ machines: 0 }, (cluster) => play(new Scene(cluster)))

/** @param {{ name: string }[]} events */
const names = (events) => events.map(({ name }) => name)

describe('the end of a worker', () => {
  for (const [how, end] of /** @type {[string, (scene: Scene) => Promise<{ name: string, at: number }>][]} */ ([
    ['whose lease expires', async (scene) => {
      const { lease, name, process } = await scene.worker()
      process.end(null)
      const expiry = await scene.cluster.command('ZSCORE', WORKERS.expiry, lease.number)
      return { name, at: Number(expiry) - scene.cluster.world.wall + scene.cluster.time }
    }],
    ['whose number the next process takes', async (scene) => {
      const { name, process } = await scene.worker({ slot: 'gateway-0' })
      await scene.cluster.pass(500)
      process.end(null)
      const at = scene.cluster.time
      await scene.worker({ slot: 'gateway-0' })
      return { name, at }
    }]
  ])) {
    test(`${how} is known to all processes within 1.2 s`, inScene(async (scene) => {
      const watchers = [await scene.watcher(), await scene.watcher(), await scene.watcher()]
      const { name, at } = await end(scene)
      await scene.cluster.pass(at + KNOWN_WITHIN - scene.cluster.time)
      for (const { gone } of watchers) assert.deepEqual(gone, [name])
    }))
  }

  test('is reported on every process, and cleaned up by one', inScene(async (scene) => {
    const watchers = [await scene.watcher(), await scene.watcher(), await scene.watcher()]
    const living = await scene.worker()
    const dead = await scene.worker()
    dead.process.end(null)
    await scene.cluster.pass(2 * LEASE_TIME)
    for (const { gone } of watchers) assert.deepEqual(gone, [dead.name])
    assert.deepEqual(watchers.flatMap(({ cleaned }) => names(cleaned)), [dead.name])
    assert.deepEqual(await scene.unclean(), [`${dead.name}~`])
    const [{ act, redis }] = watchers
    assert.deepEqual(await act(() => liveIncarnations(redis, [living.name, dead.name])), new Set([living.name]))
  }))

  test('is reported once for each of many, in the same order everywhere', inScene(async (scene) => {
    const one = await scene.watcher()
    const two = await scene.watcher()
    /** @type {Awaited<ReturnType<Scene['worker']>>[]} */
    const dead = []
    for (let i = 0; i < 20; i++) dead.push(await scene.worker())
    await together(scene.cluster, dead, (_, i) => dead[i].lease.stop())
    await scene.cluster.pass(60_000)
    assert.deepEqual(one.gone, two.gone)
    assert.deepEqual([...one.gone].sort(), names(dead).sort())
    assert.deepEqual(names([...one.cleaned, ...two.cleaned]).sort(), names(dead).sort())
  }))

  test('is reported when the next process takes its number, and that process counts as alive', inScene(async (scene) => {
    const { gone, act, redis } = await scene.watcher()
    const first = await scene.worker({ slot: 'gateway-0' })
    first.process.end(null)
    const second = await scene.worker({ slot: 'gateway-0' })
    assert.equal(second.lease.number, first.lease.number)
    assert.ok(second.lease.incarnation > first.lease.incarnation)
    await scene.cluster.pass(KNOWN_WITHIN)
    assert.deepEqual(gone, [first.name])
    assert.deepEqual(await act(() => liveIncarnations(redis, [first.name, second.name])), new Set([second.name]))
  }))

  test('is reported for a worker that could not renew in time and continues as a new incarnation', inScene(async (scene) => {
    const { gone, act, redis } = await scene.watcher()
    const { process, lease, reborn, name } = await scene.worker()
    process.pause(2 * LEASE_TIME)
    await scene.cluster.pass(2 * LEASE_TIME + 1000)
    assert.deepEqual(gone, [name])
    assert.deepEqual(reborn, [lease.incarnation])
    const now = incarnationName(lease.number, lease.incarnation)
    assert.notEqual(now, name)
    assert.deepEqual(await act(() => liveIncarnations(redis, [name, now])), new Set([now]))
  }))

  for (const [when, restarts] of /** @type {const} */ ([['', false], [', and Redis was restarted since', true]])) {
    test(`is not taken back when another process has had its number, and has stopped${when}`,
      inScene(async (scene) => {
        const { cluster } = scene
        const { gone } = await scene.watcher()
        const { process, lease, reborn, name, lines } = await scene.worker({ slot: 'gateway-0' })
        await cluster.pass(LEASE_TIME / 2)
        cluster.cutOff(process, 'redis', 3 * LEASE_TIME)
        await cluster.pass(2 * LEASE_TIME)
        const next = await scene.worker({ slot: 'gateway-0' })
        assert.equal(next.lease.number, lease.number)
        await next.act(() => next.lease.stop())
        await cluster.pass(KNOWN_WITHIN)
        const [server] = cluster.redis.servers
        if (restarts) server.restart(server.store.snapshot(), 100)
        await cluster.until(() => reborn.length > 0)
        assert.deepEqual(reborn, [lease.incarnation])
        assert.ok(lease.incarnation > next.lease.incarnation, `${lease.incarnation} follows ${next.lease.incarnation}`)
        assert.equal(lines.some(({ text }) => text.includes('has lost its data')), false)
        await cluster.pass(LEASE_TIME)
        assert.deepEqual(gone, [name, next.name])
      }))
  }

  test('is not reported while Redis is unavailable or has lost its data', inScene(async (scene) => {
    const { cluster } = scene
    const { gone } = await scene.watcher()
    const { lease, reborn } = await scene.worker()
    cluster.redis.servers[0].process.pause(2 * LEASE_TIME)
    await cluster.pass(3 * LEASE_TIME)
    assert.equal(lease.held, true)
    await cluster.command('FLUSHALL')
    await cluster.pass(LEASE_TIME)
    assert.equal(Number(await cluster.command('HGET', WORKERS.incarnations, lease.number)), lease.incarnation)
    await cluster.pass(LEASE_TIME)
    assert.deepEqual([gone, reborn], [[], []])
  }))
})

describe('state that an ended worker left behind', () => {
  test('is cleaned up by a retry after a failure', inScene(async (scene) => {
    let failures = 3
    const { cleaned } = await scene.watcher(async () => { if (failures-- > 0) throw new Error('not now') })
    const dead = await scene.worker()
    dead.process.end(null)
    await scene.cluster.pass(60_000)
    assert.deepEqual(names(cleaned), Array(4).fill(dead.name))
    assert.deepEqual(await scene.unclean(), [`${dead.name}~`])
  }))

  test('is cleaned up once more 100 s later, after which no write of the worker can still arrive', inScene(async (scene) => {
    const watchers = [await scene.watcher(), await scene.watcher()]
    const dead = await scene.worker()
    dead.process.end(null)
    await scene.cluster.pass(2 * LEASE_TIME + AGAIN)
    const [first, second, ...more] = watchers.flatMap(({ cleaned }) => cleaned).sort((a, b) => a.at - b.at)
    assert.deepEqual([names([first, second]), more], [[dead.name, `${dead.name} again`], []])
    assert.ok(Math.abs(second.at - first.at - AGAIN) < KNOWN_WITHIN, `after ${second.at - first.at} ms`)
    assert.deepEqual(await scene.unclean(), [])
  }))

  test('is cleaned up by another process when the first one dies during the cleanup, and not before', inScene(async (scene) => {
    const { cluster } = scene
    const first = await scene.watcher(() => new Promise(() => {}))
    const dead = await scene.worker()
    dead.process.end(null)
    await cluster.until(() => first.cleaned.length > 0)
    const second = await scene.watcher()
    // the first one is slow, but alive
    await cluster.pass(10 * CLAIM_TIME)
    assert.deepEqual(second.cleaned, [])
    first.process.end(null)
    await cluster.pass(CLAIM_TIME + KNOWN_WITHIN)
    assert.deepEqual(names(second.cleaned), [dead.name])
    assert.deepEqual(second.gone, [], 'it ended before the second one started to watch')
  }))

  test('stays until clients can no longer return, after an orderly end', inScene(async (scene) => {
    const { cluster } = scene
    const { gone, cleaned } = await scene.watcher()
    const { lease, name, act } = await scene.worker()
    const { time } = cluster
    await act(() => lease.stop())
    await cluster.pass(GRACE + 2 * KNOWN_WITHIN)
    assert.deepEqual([gone, names(cleaned)], [[name], [name]])
    assert.ok(cleaned[0].at - time >= GRACE, `after ${cleaned[0].at - time} ms`)
  }))
})
