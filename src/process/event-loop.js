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

/** The process itself is the cause of the delays if its CPU time during them was at least this part of them. */
const OWN_PART = 0.5

/** CPU time of the thread of the event loop; before Node 23.9 of all threads. */
const ownCpuUsage = /** @type {{ threadCpuUsage?: typeof process.cpuUsage }} */ (process).threadCpuUsage ??
  process.cpuUsage

/**
 * Measures the event loop's delay, and logs a warning when the process falls behind.
 * @param {object} dependencies
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @param {number} [dependencies.window] ms
 * @param {() => { user: number, system: number }} [dependencies.cpuUsage] of this thread so far, us
 */
export function createEventLoopMonitor ({
  metrics, log, clock = systemClock, window = WINDOW, cpuUsage = ownCpuUsage
}) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const logLimit = new LogLimit({ clock })
  /** @type {NodeJS.Timeout | undefined} */
  let sampler
  let last = { at: clock.monotonic(), cpuMs: cpuMsSoFar() }
  /** Delays in this window, and the CPU time during them, ms. What the process does at other times says nothing. */
  let late = 0
  let lateCpuMs = 0

  function cpuMsSoFar () {
    const { user, system } = cpuUsage()
    return (user + system) / 1000
  }

  function sample () {
    const now = { at: clock.monotonic(), cpuMs: cpuMsSoFar() }
    const delay = now.at - last.at - RESOLUTION
    metrics.event_loop_delay_seconds.observe(Math.max(0, delay) / 1000)
    if (delay > RESOLUTION) {
      late += delay
      lateCpuMs += now.cpuMs - last.cpuMs
    }
    last = now
  }

  /** @param {number} p99 */
  function warn (p99) {
    const [lateMs, cpuMs] = [late, lateCpuMs]
    late = lateCpuMs = 0
    if (p99 < LAG || !logLimit.due()) return
    log.warn(
      { p99Ms: Math.round(p99), lateMs: Math.round(lateMs), cpuMs: Math.round(cpuMs) },
      cpuMs >= OWN_PART * lateMs
        ? 'the event loop falls behind: this process has more work than one core can do; add workers or machines, or take a CPU profile'
        : 'the event loop is late although this process uses little CPU: other processes keep the machine busy, or a CPU limit (cgroup) stops this one; more workers would not help'
    )
  }

  return {
    start () {
      histogram.enable()
      sampler = setInterval(sample, RESOLUTION).unref()
      timer = setInterval(() => {
        // an idle process has no samples
        const value = (/** @type {number} */ nanoseconds) =>
          Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION) : 0
        const p99 = value(histogram.percentile(99))
        const seconds = {
          min: value(histogram.min) / 1000,
          max: value(histogram.max) / 1000,
          mean: value(histogram.mean) / 1000,
          p50: value(histogram.percentile(50)) / 1000,
          p90: value(histogram.percentile(90)) / 1000,
          p99: p99 / 1000,
          stddev: Number.isFinite(histogram.stddev) ? histogram.stddev / NANOSECONDS / 1000 : 0
        }
        for (const quantile of /** @type {const} */ (['p50', 'p99', 'max']))
          metrics.event_loop_lag_seconds.set({ quantile }, seconds[quantile])
        if (metrics.loop !== undefined) {
          for (const [part, gauge] of Object.entries(metrics.loop))
            gauge.set(seconds[/** @type {keyof typeof seconds} */ (part)])
        }
        warn(p99)
        histogram.reset()
      }, window)
      timer.unref()
    },
    stop () {
      clearInterval(timer)
      clearInterval(sampler)
      histogram.disable()
    }
  }
}
