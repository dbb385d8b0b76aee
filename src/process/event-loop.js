import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../common/clock.js'
import { LogLimit } from '../common/log-limit.js'

/** Period over which the event loop's delay is measured, ms. */
const WINDOW = 10_000
const NANOSECONDS = 1e6
/**
 * Interval of the samples, ms. The histogram contains the time between two samples, so this much of each value is no
 * delay. Sampling every 10 ms takes 0.4 % of a core.
 */
const RESOLUTION = 50
/** A p99 above this is logged, ms; at most once a minute. */
const LAG = 200

/** The process itself is the cause of the lateness if its CPU time was at least this part of it. */
const OWN_PART = 0.5

/**
 * Measures the event loop's delay, and logs a warning when the process falls behind.
 * @param {object} dependencies
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @param {number} [dependencies.window] ms
 * @param {() => { user: number, system: number }} [dependencies.cpuUsage] of this process so far, us
 */
export function createEventLoopMonitor ({
  metrics, log, clock = systemClock, window = WINDOW, cpuUsage = process.cpuUsage
}) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const logLimit = new LogLimit({ clock })
  let usage = cpuUsage()

  /** @param {number} p99 @param {number} late sum of all delays, ms */
  function warn (p99, late) {
    const before = usage
    usage = cpuUsage()
    if (p99 < LAG || !logLimit.due()) return
    const cpuMs = (usage.user + usage.system - before.user - before.system) / 1000
    log.warn(
      { p99Ms: Math.round(p99), lateMs: Math.round(late), cpuMs: Math.round(cpuMs) },
      cpuMs >= OWN_PART * late
        ? 'the event loop falls behind: this process has more work than one core can do; add workers or machines, or take a CPU profile'
        : 'the event loop is late although this process uses little CPU: other processes keep the machine busy, or a CPU limit (cgroup) stops this one; more workers would not help'
    )
  }

  return {
    start () {
      histogram.enable()
      timer = setInterval(() => {
        // an idle process has no samples
        const value = (/** @type {number} */ nanoseconds) =>
          Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION) : 0
        metrics.event_loop_lag_milliseconds.set({ quantile: 'p50' }, value(histogram.percentile(50)))
        const p99 = value(histogram.percentile(99))
        metrics.event_loop_lag_milliseconds.set({ quantile: 'p99' }, p99)
        warn(p99, value(histogram.mean) * histogram.count)
        metrics.event_loop_lag_milliseconds.set({ quantile: 'max' }, value(histogram.max))
        histogram.reset()
      }, window)
      timer.unref()
    },
    stop () {
      clearInterval(timer)
      histogram.disable()
    }
  }
}
