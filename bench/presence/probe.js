/**
 * For `node --import`: on SIGUSR2 the process writes a line with the delays of its event loop since the last line, ms.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION = 10
const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
delays.enable()

process.on('SIGUSR2', () => {
  const lag = (/** @type {number} */ value) => Math.max(0, Math.round((value / 1e6 - RESOLUTION) * 10) / 10)
  console.log(`probe ${JSON.stringify({ pid: process.pid, p99: lag(delays.percentile(99)), max: lag(delays.max) })}`)
  delays.reset()
})
