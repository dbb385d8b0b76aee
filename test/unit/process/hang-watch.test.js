import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HangWatch } from '../../../src/operate/launcher/hang-watch.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** Interval between two looks, ms. */
const STEP = 500

/**
 * A watch over processes that answer as long as `stuck` does not have them.
 * @param {import('node:test').TestContext} t
 * @param {string[]} names
 */
function watch (t, names) {
  const clock = manualClock()
  /** Reads answers: after a timer, and before the action of `soon`. */
  let read = () => {}
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  /** @type {Set<string>} */
  const stuck = new Set()
  /** @type {string[]} */
  const killed = []
  const usage = { state: 'S', cpuMs: 0, queuedMs: 0 }
  let traced = false
  let inspected = false
  let asked = 0
  const processes = names.map((name, pid) => ({
    name, pid, role: 'gateway', hung: false,
    ask () {
      asked++
      if (!stuck.has(name)) watching.answered(this, inspected)
    },
    kill: () => { killed.push(name) }
  }))
  const watching = new HangWatch({
    processes: () => processes.filter(({ name }) => !killed.includes(name)),
    isReady: (name) => !killed.includes(name) || replaced.has(name),
    metrics,
    log,
    clock: {
      ...clock,
      soon: (run) => clock.soon(() => {
        read()
        run()
      })
    },
    host: { usageOf: () => ({ ...usage }), traced: () => traced }
  })
  /** @type {Set<string>} */
  const replaced = new Set()
  watching.start()
  t.after(() => watching.stop())
  return {
    stuck, killed, replaced, usage, lines, metrics, processes,
    trace (on = true) { traced = on },
    inspect () { inspected = true },
    get asked () { return asked },
    get hung () { return processes.filter(({ hung }) => hung).map(({ name }) => name) },
    /** @param {number} ms @param {() => void} [each] called before each look */
    pass (ms, each = () => {}) {
      for (let passed = 0; passed < ms; passed += STEP) {
        each()
        clock.advance(STEP)
      }
    },
    /** This process does not run either. @param {number} ms @param {() => void} [found] it reads this when it does */
    sleep (ms, found = () => {}) {
      read = found
      clock.stall(ms)
      clock.advance(0)
      read = () => {}
    },
    answer () { for (const process of processes) if (!stuck.has(process.name)) watching.answered(process, inspected) }
  }
}

test('a process that does not answer counts as hung after 1.5 s and is killed after 10 s, asked only once', (t) => {
  const scene = watch(t, ['gateway-0', 'gateway-1'])
  scene.pass(2000)
  assert.deepEqual([scene.hung, scene.asked], [[], 8])
  scene.stuck.add('gateway-0')
  scene.pass(1500)
  assert.deepEqual(scene.hung, [])
  scene.pass(STEP)
  assert.deepEqual(scene.hung, ['gateway-0'])
  scene.pass(8000)
  assert.deepEqual(scene.killed, [])
  scene.pass(STEP)
  assert.deepEqual(scene.killed, ['gateway-0'])
  scene.pass(60_000)
  assert.deepEqual(scene.killed, ['gateway-0'])
})

test('one that answers again in time is neither hung nor killed', async (t) => {
  const scene = watch(t, ['gateway-0'])
  const hung = async () => {
    const all = await scene.metrics.collect()
    return ['inkcast_hung_workers', 'inkcast_worker_hangs_total', 'inkcast_hung_workers_killed_total'].map((name) =>
      /** @type {any} */ (all.find((metric) => metric.name === name)).values[0]?.value ?? 0
    )
  }
  scene.stuck.add('gateway-0')
  scene.pass(9000)
  assert.deepEqual([scene.hung, await hung()], [['gateway-0'], [1, 1, 0]])
  scene.stuck.clear()
  scene.answer()
  assert.deepEqual([scene.hung, await hung()], [[], [0, 1, 0]])
  scene.pass(20_000)
  assert.deepEqual(scene.killed, [])
})

test('time in which this process was asleep does not count: a suspended or frozen machine', (t) => {
  const scene = watch(t, ['gateway-0'])
  scene.stuck.add('gateway-0')
  scene.pass(500)
  scene.sleep(3_600_000)
  assert.deepEqual([scene.hung, scene.killed], [[], []])
  scene.stuck.clear()
  scene.answer()
  scene.pass(20_000)
  assert.deepEqual([scene.hung, scene.killed], [[], []])
})

test('an answer that waited while this process was busy is read before its sender is judged', (t) => {
  const scene = watch(t, ['gateway-0'])
  scene.stuck.add('gateway-0')
  scene.pass(1500)
  scene.sleep(700, () => {
    scene.stuck.clear()
    scene.answer()
  })
  scene.pass(STEP)
  assert.deepEqual([scene.hung, scene.lines], [[], []])
})

test('a late look counts as one that came in time', (t) => {
  const scene = watch(t, ['gateway-0'])
  scene.stuck.add('gateway-0')
  scene.pass(500)
  scene.sleep(900)
  scene.sleep(900)
  assert.deepEqual(scene.hung, [])
  scene.pass(STEP)
  assert.deepEqual(scene.hung, ['gateway-0'])
})

test('time in which the process was ready to run and got no CPU does not count', (t) => {
  const scene = watch(t, ['gateway-0'])
  scene.stuck.add('gateway-0')
  scene.pass(60_000, () => { scene.usage.queuedMs += STEP })
  assert.deepEqual(scene.hung, [])
  scene.pass(1500)
  assert.deepEqual(scene.hung, ['gateway-0'])
})

for (const debug of /** @type {const} */ (['trace', 'inspect']))
  test(`one with a debugger is not killed, and the log says so once: ${debug}`, (t) => {
    const scene = watch(t, ['gateway-0'])
    scene[debug]()
    scene.pass(1000)
    scene.stuck.add('gateway-0')
    scene.pass(600_000)
    assert.deepEqual([scene.hung, scene.killed], [['gateway-0'], []])
    assert.equal(scene.lines.filter(({ text }) => /debugger: it is not killed/.test(text)).length, 1)
    assert.equal(scene.lines.filter(({ text }) => /inspector is open/.test(text)).length, debug === 'inspect' ? 1 : 0)
  })

test('an endless loop on an overloaded machine: with enough CPU for an answer, the time without a CPU counts', (t) => {
  const scene = watch(t, ['gateway-0'])
  scene.pass(500)
  scene.stuck.add('gateway-0')
  const quarter = () => {
    scene.usage.state = 'R'
    scene.usage.cpuMs += STEP / 4
    scene.usage.queuedMs += STEP * 3 / 4
  }
  scene.pass(2500, quarter)
  assert.deepEqual(scene.hung, ['gateway-0'])
  assert.match(scene.lines.at(-1)?.text ?? '', /computes without a pause/)
  scene.pass(7000, quarter)
  assert.deepEqual(scene.killed, [])
  scene.pass(1500, quarter)
  assert.deepEqual(scene.killed, ['gateway-0'])
})

test('if all of them hang at once, one is killed at a time', (t) => {
  const scene = watch(t, ['gateway-0', 'gateway-1', 'gateway-2'])
  for (const name of ['gateway-0', 'gateway-1', 'gateway-2']) scene.stuck.add(name)
  scene.pass(20_000)
  assert.deepEqual(scene.killed, ['gateway-0'])
  scene.replaced.add('gateway-0')
  scene.pass(STEP)
  assert.deepEqual(scene.killed, ['gateway-0', 'gateway-1'])
  // a replacement that does not start keeps it from nothing for long
  scene.pass(31_000)
  assert.deepEqual(scene.killed, ['gateway-0', 'gateway-1', 'gateway-2'])
})

test('the log names the cause: stopped, computing, waiting for a disk, blocked', (t) => {
  const causes = { T: /stopped by a signal/, R: /computes without a pause/, D: /disk/, S: /blocked in a system call/ }
  for (const [state, cause] of Object.entries(causes)) {
    const scene = watch(t, ['gateway-0'])
    scene.pass(500)
    scene.stuck.add('gateway-0')
    scene.usage.state = state
    scene.pass(2000, () => { if (state === 'R') scene.usage.cpuMs += STEP })
    assert.match(scene.lines.at(-1)?.text ?? '', cause)
  }
})
