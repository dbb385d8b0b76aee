import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventLoopMonitor } from '../../../src/observe/metrics/event-loop.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** Time of the monitor's window, ms. */
const WINDOW = 10_000
/** Duration of each block of the loop, ms: above the p99 at which a warning is logged. */
const STILL = 500

/** A monitored process whose loop does what the test says. */
function watchedLoop () {
  const clock = manualClock()
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  let cpuMs = 0
  createEventLoopMonitor({ metrics, log, clock: { ...clock, cpu: () => cpuMs } }).start()
  return {
    lines,
    metrics,
    /** The loop is blocked. @param {number} ms @param {number} used CPU time of the process during it, ms */
    block (ms, used) {
      cpuMs += used
      clock.stall(ms)
      clock.advance(0)
    },
    /** The loop runs. @param {number} ms @param {number} used CPU time of the process during it, ms */
    run (ms, used) {
      cpuMs += used
      clock.advance(ms)
    }
  }
}

test('a loop that is late because of its own work gets advice to add workers', () => {
  const loop = watchedLoop()
  for (let i = 0; i < 3 * WINDOW / STILL; i++) loop.block(STILL, STILL)
  assert.match(loop.lines[0].text, /add workers or machines/)
  assert.equal(loop.lines.length, 1)
})

test('CPU time outside of the delays does not count: a busy process may still be kept waiting by others', () => {
  const loop = watchedLoop()
  for (let i = 0; i < 3 * WINDOW / STILL; i++) {
    // up to a sample without a delay
    for (let ms = 0; ms < 300; ms += 50) loop.run(50, 10 * STILL)
    loop.block(STILL, 0)
  }
  assert.match(loop.lines[0].text, /uses little CPU: other processes/)
})

test('a loop that is late for lack of CPU does not', () => {
  const loop = watchedLoop()
  for (let i = 0; i < 3 * WINDOW / STILL; i++) loop.block(STILL, 5)
  assert.match(loop.lines[0].text, /uses little CPU: other processes/)
})

test('a process that rests is sampled less often, and a short delay is no warning', async () => {
  const loop = watchedLoop()
  for (let i = 0; i < 3 * WINDOW / 250; i++) loop.run(250, 1)
  loop.block(100, 100)
  loop.run(2 * WINDOW, 0)
  assert.deepEqual(loop.lines, [])
  const { values } = await loop.metrics.event_loop_delay_seconds.get()
  const samples = values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0
  assert.ok(samples < 5 * WINDOW / 250 + 10, `${samples} samples`)
})

test('the first window says nothing: the code of a process is compiled at its start', async () => {
  const loop = watchedLoop()
  const { event_loop_lag_seconds: lag } = loop.metrics
  loop.block(STILL, STILL)
  loop.run(WINDOW - STILL, 0)
  assert.ok((await lag.get()).values.some(({ value }) => value > 0.2))
  assert.deepEqual(loop.lines, [])
  for (let i = 0; i < WINDOW / STILL; i++) loop.block(STILL, STILL)
  assert.equal(loop.lines.length, 1)
})
