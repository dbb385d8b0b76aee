/**
 * For `node --expose-gc --import`: on SIGUSR2 the process writes a line with its memory after garbage collection, and
 * the longest delay of its event loop since the last line.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION = 20
const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
delays.enable()

process.on('SIGUSR2', () => {
  const delayMs = Math.max(0, Math.round(delays.max / 1e6) - RESOLUTION)
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  console.log(`probe ${JSON.stringify({ heapUsed, rss, delayMs })}`)
  delays.reset()
})
