import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../../src/common/clock.js'
import { createEventLoopMonitor } from '../../../src/process/event-loop.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * Duration of each block of the loop, ms: above the p99 at which a warning is logged, also where a resting process is
 * sampled every 250 ms.
 */
const STILL = 500

/**
 * Returns the monitor's warning for a loop that is blocked repeatedly.
 * @param {import('node:test').TestContext} t
 * @param {() => number} [cpu] of the process, ms
 */
async function warningOf (t, cpu = systemClock.cpu) {
  const { log, lines } = recordingLog()
  const monitor = createEventLoopMonitor({
    metrics: createMetrics({ processMetrics: false }),
    log,
    window: 3 * STILL,
    clock: { ...systemClock, cpu }
  })
  monitor.start()
  t.after(() => monitor.stop())
  const cell = new Int32Array(new SharedArrayBuffer(4))
  await waitFor(() => {
    // blocks without using CPU
    Atomics.wait(cell, 0, 0, STILL)
    return lines.length > 0
  })
  return lines[0].text
}

test('a loop that is late because of its own work gets advice to add workers', async (t) => {
  // independent of the CPU time that a busy machine gives to the test
  assert.match(await warningOf(t, () => performance.now()), /add workers or machines/)
})

test('CPU time outside of the delays does not count: a busy process may still be kept waiting by others', async (t) => {
  const { log, lines } = recordingLog()
  let used = 0
  let sampledAt = performance.now()
  /** Much CPU time between samples that are certainly not late; on a busy machine others are late too. */
  function cpu () {
    const now = performance.now()
    if (now - sampledAt < 95) used += 10 * STILL
    sampledAt = now
    return used
  }
  const monitor = createEventLoopMonitor({
    metrics: createMetrics({ processMetrics: false }), log, window: 3 * STILL, clock: { ...systemClock, cpu }
  })
  monitor.start()
  t.after(() => monitor.stop())
  const cell = new Int32Array(new SharedArrayBuffer(4))
  await waitFor(async () => {
    // for a sample without a delay
    await delay(120)
    // long enough for a warning also while the monitor samples as of a process that rests
    Atomics.wait(cell, 0, 0, 2 * STILL)
    return lines.length > 0
  })
  assert.match(lines[0].text, /uses little CPU: other processes/)
})

test('a loop that is late for lack of CPU does not', async (t) => {
  assert.match(await warningOf(t), /uses little CPU: other processes/)
})

test('the first window says nothing: the code of a process is compiled at its start', async (t) => {
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const monitor = createEventLoopMonitor({ metrics, log, window: 3 * STILL, clock: systemClock })
  monitor.start()
  t.after(() => monitor.stop())
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STILL)
  await waitFor(async () => (await metrics.event_loop_lag_seconds.get()).values.some(({ value }) => value > 0.2))
  assert.deepEqual(lines, [])
})
