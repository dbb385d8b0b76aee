import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventLoopMonitor } from '../../../src/process/event-loop.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** How long the loop stands still at a time, ms: more than a p99 that is worth a line. */
const STILL = 300

/**
 * What the monitor says of a loop that stands still again and again.
 * @param {import('node:test').TestContext} t
 * @param {() => { user: number, system: number }} [cpuUsage] of the process
 */
async function warningOf (t, cpuUsage) {
  const { log, lines } = recordingLog()
  const monitor = createEventLoopMonitor({
    metrics: createMetrics({ processMetrics: false }),
    log,
    window: 5 * STILL,
    cpuUsage
  })
  monitor.start()
  t.after(() => monitor.stop())
  const cell = new Int32Array(new SharedArrayBuffer(4))
  await waitFor(() => {
    // no CPU is used meanwhile
    Atomics.wait(cell, 0, 0, STILL)
    return lines.length > 0
  })
  return lines[0].text
}

test('a process whose loop is late because of what it computes is told to add workers', async (t) => {
  // whether a busy machine lets the test compute is not what is tested
  assert.match(await warningOf(t, () => ({ user: performance.now() * 1000, system: 0 })), /add workers or machines/)
})

test('a process whose loop is late because it gets no CPU is not', async (t) => {
  assert.match(await warningOf(t), /uses little CPU: other processes/)
})
