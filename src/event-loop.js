import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How long the event loop's delay is observed before the figures are published and start anew, ms. */
const WINDOW = 10_000
const NANOSECONDS = 1e6
/** ms between two looks; the histogram holds the time between them, of which this much is no delay. */
const RESOLUTION = 20

/**
 * Publishes the event loop's delay.
 * @param {{ metrics: import('./metrics.js').Metrics }} dependencies
 */
export function createEventLoopMonitor ({ metrics }) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  return {
    start () {
      histogram.enable()
      timer = setInterval(() => {
        // a sleeping process has nothing to tell
        const value = (/** @type {number} */ nanoseconds) => Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION) : 0
        metrics.event_loop_lag_milliseconds.set({ quantile: 'p50' }, value(histogram.percentile(50)))
        metrics.event_loop_lag_milliseconds.set({ quantile: 'p99' }, value(histogram.percentile(99)))
        metrics.event_loop_lag_milliseconds.set({ quantile: 'max' }, value(histogram.max))
        histogram.reset()
      }, WINDOW)
      timer.unref()
    },
    stop () {
      clearInterval(timer)
      histogram.disable()
    }
  }
}
