import '../../../simulation/world/patched-time.js'
import assert from 'node:assert/strict'
import crypto, { randomBytes, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import os from 'node:os'
import { performance as ofPerfHooks } from 'node:perf_hooks'
import timers, { setTimeout as ofTimers } from 'node:timers'
import timersPromises, { setTimeout as ofPromises } from 'node:timers/promises'
import { promisify } from 'node:util'
import { World } from '../../../simulation/world/world.js'

/** Time of each way to wait below, ms: far longer than this test may take. */
const LONG = 3_600_000

/** @param {(process: import('../../../simulation/world/sim-process.js').SimProcess) => unknown} run */
async function inWorld (run, seed = 1) {
  const world = new World(seed, { checked: true })
  const one = world.process('one', { name: 'm1', step: 0 })
  let isOver = false
  /** @type {unknown} */
  let failure
  one.enter('run', async () => {
    try {
      await run(one)
    } catch (error) {
      failure = error
    }
    isOver = true
  })
  await world.run(100 * LONG, () => isOver)
  if (failure !== undefined) throw failure
  assert.ok(isOver, 'it never ended')
  assert.deepEqual(world.violations, [])
  return world
}

/** @param {(resolve: () => void) => unknown} begin */
const until = (begin) => new Promise((/** @type {(value?: any) => void} */ resolve) => begin(resolve))
/** A number, as libraries know timers of browsers. @param {unknown} timer @returns {any} */
const numberOf = (timer) => Number(timer)

describe('while a world runs, time', () => {
  /** @type {Record<string, () => unknown>} each waits for LONG */
  const WAITS = {
    'setTimeout': () => until((run) => setTimeout(run, LONG)),
    'setTimeout with arguments': () => until((run) => setTimeout((/** @type {() => void} */ then) => then(), LONG, run)),
    'setTimeout that is refreshed': () => until((run) => setTimeout(run, LONG).refresh()),
    'setInterval': () => until((run) => {
      const timer = setInterval(() => {
        clearInterval(timer)
        run()
      }, LONG)
    }),
    'timers.setTimeout': () => until((run) => timers.setTimeout(run, LONG)),
    'setTimeout that is imported from timers': () => until((run) => ofTimers(run, LONG)),
    'timers.promises.setTimeout': () => timers.promises.setTimeout(LONG),
    'setTimeout of timers/promises': () => timersPromises.setTimeout(LONG),
    'setTimeout that is imported from timers/promises': () => ofPromises(LONG),
    'setInterval of timers/promises': async () => {
      for await (const value of timersPromises.setInterval(LONG, 'value')) {
        assert.equal(value, 'value')
        break
      }
    },
    'scheduler.wait': () => timersPromises.scheduler.wait(LONG),
    'promisify(setTimeout)': () => promisify(setTimeout)(LONG),
    'AbortSignal.timeout': () => until((run) => AbortSignal.timeout(LONG).addEventListener('abort', () => run()))
  }
  for (const [name, wait] of Object.entries(WAITS)) {
    test(`passes without waiting: ${name}`, async () => {
      const world = await inWorld(wait)
      assert.ok(world.time >= LONG && world.time < LONG + 1, `${world.time}`)
    })
  }

  test('does not pass for immediates, in each way to have one', async () => {
    const world = await inWorld(async () => {
      await until((run) => setImmediate(run))
      await until((run) => timers.setImmediate(run))
      await timersPromises.setImmediate()
      await timersPromises.scheduler.yield()
      await promisify(setImmediate)()
      await until((run) => process.nextTick(run))
      await until((run) => queueMicrotask(run))
    })
    assert.equal(world.time, 0)
    assert.ok(world.turns >= 6)
  })

  test('never comes for what was cleared, in each way to clear it', async () => {
    const never = () => assert.fail('it was cleared')
    await inWorld(async () => {
      clearTimeout(setTimeout(never, 10))
      clearInterval(setInterval(never, 10))
      clearTimeout(setInterval(never, 10))
      clearImmediate(setImmediate(never))
      clearTimeout(numberOf(setTimeout(never, 10)))
      timers.clearTimeout(timers.setTimeout(never, 10))
      setTimeout(never, 10).close()
      clearTimeout(undefined)
      const controller = new AbortController()
      const waits = timersPromises.setTimeout(10, undefined, { signal: controller.signal })
      controller.abort(new Error('why'))
      await assert.rejects(waits, { name: 'AbortError' })
      await until((run) => setTimeout(run, 100))
    })
  })

  test('is the time of the world and the machine in each way to ask', async () => {
    await inWorld(async ({ machine, world }) => {
      const begun = process.hrtime()
      await until((run) => setTimeout(run, LONG))
      machine.step = 1234
      const wall = Math.floor(world.wall + 1234)
      assert.equal(Date.now(), wall)
      assert.equal(new Date().getTime(), wall)
      assert.equal(new Date(Date()).getTime(), Math.floor(wall / 1000) * 1000)
      assert.equal(new (/** @type {any} */ (new Date(0)).constructor)().getTime(), wall)
      assert.ok(new Date() instanceof Date)
      assert.equal(new Date(2026, 1, 2).getMonth(), 1)
      assert.equal(new Intl.DateTimeFormat('en').format(), new Intl.DateTimeFormat('en').format(wall))
      const monotonic = 1000 + world.time
      assert.equal(performance.now(), monotonic)
      assert.equal(ofPerfHooks.now(), monotonic)
      assert.equal(performance.timeOrigin + performance.now(), wall)
      assert.equal(new Event('any').timeStamp, monotonic)
      assert.equal(process.uptime(), monotonic / 1000)
      assert.equal(process.hrtime.bigint(), BigInt(Math.floor(monotonic * 1e6)))
      assert.equal(process.hrtime(begun)[0], LONG / 1000)
      assert.equal(os.uptime(), Math.floor(world.time / 1000) + 3600)
      assert.deepEqual(process.cpuUsage(), { user: 0, system: 0 })
    })
  })

  test('is Node\'s own in no function of its modules that this test does not name', () => {
    const known = new Set([
      'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate',
      // of old versions: begin no timer
      '_unrefActive', 'active', 'unenroll', 'enroll'
    ])
    const isFunction = (/** @type {any} */ of) => (/** @type {string} */ name) => typeof of[name] === 'function'
    assert.deepEqual(Object.keys(timers).filter(isFunction(timers)).filter((name) => !known.has(name)), [])
    assert.deepEqual(Object.keys(timersPromises).filter((name) => !known.has(name)), ['scheduler'])
    assert.deepEqual(
      Object.getOwnPropertyNames(Object.getPrototypeOf(timersPromises.scheduler)).sort(), ['constructor', 'wait', 'yield']
    )
  })
})

describe('while a world runs, random values', () => {
  /** @param {(run: (error: unknown, value: any) => void) => unknown} begin */
  const answerOf = (begin) => new Promise((resolve) => begin((_, value) => resolve(value)))
  const draw = async () => [
    Math.random(), randomBytes(8).toString('hex'), crypto.randomBytes(8).toString('hex'), randomUUID(),
    crypto.randomUUID(), crypto.randomInt(1000), crypto.randomInt(5, 1000),
    await answerOf((run) => crypto.randomInt(1000, run)),
    crypto.randomFillSync(Buffer.alloc(8), 2, 4).toString('hex'),
    crypto.randomFillSync(new Uint32Array(4), 1, 2).join(),
    String(await answerOf((run) => crypto.randomFill(Buffer.alloc(8), run))),
    String(await answerOf((run) => crypto.randomBytes(8, run))),
    crypto.getRandomValues(new Uint16Array(4)).join(), globalThis.crypto.getRandomValues(new Uint8Array(4)).join(),
    crypto.webcrypto.getRandomValues(new Uint8Array(4)).join(), globalThis.crypto.randomUUID(),
    ...'randomUUIDv7' in crypto ? [/** @type {any} */ (crypto).randomUUIDv7()] : []
  ]

  test('are those of the seed, in each way to draw', async () => {
    /** @type {unknown[][]} */
    const drawn = []
    for (const seed of [1, 1, 2]) await inWorld(async () => { drawn.push(await draw()) }, seed)
    assert.deepEqual(drawn[0], drawn[1])
    drawn[0].forEach((value, i) => assert.notEqual(value, drawn[2][i], `${i}`))
    assert.match(String(drawn[0][8]), /^0000[0-9a-f]{8}0000$/)
    assert.match(String(drawn[0][9]), /^0,[1-9]\d*,[1-9]\d*,0$/)
  })

  test('come from Node in no function that this test does not name', () => {
    // the last one is in Node 24
    const known = ['getRandomValues', 'randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'randomUUIDv7']
    const names = Object.keys(crypto).filter((name) => /^(get)?random/i.test(name))
    assert.deepEqual(names.filter((name) => !known.includes(name)), [])
  })
})
