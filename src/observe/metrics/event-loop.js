import { createHistogram } from 'node:perf_hooks'
import { LogLimit } from '../../base/common/log-limit.js'

/** Period over which the event loop's delay is measured, ms. */
const WINDOW = 10_000
const NANOSECONDS = 1e6
/**
 * Intervals of the samples, ms: of a process that works, and of one that rests, where each wake-up costs more than the
 * work that it finds. Sampling every 10 ms takes 0.4 % of a core.
 */
const [WORKING, RESTING] = [50, 250]
/** Share of a core below which a process rests. */
const REST = 0.1
/** A p99 above this is logged, ms; at most once a minute. */
const LAG = 200

/** The process itself is the cause of the delays if its CPU time during them was at least this part of them. */
const OWN_PART = 0.5

/**
 * Measures the event loop's delay, and logs a warning when the process falls behind.
 * @param {object} dependencies
 * @param {import('./metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.window] ms
 */
export function createEventLoopMonitor ({ metrics, log, clock, window = WINDOW }) {
  /** Delays of this window, in whole ns from 1 on. Three figures would take nine times the memory (360 KB) and CPU. */
  const histogram = createHistogram({ figures: 2 })
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  const logLimit = new LogLimit({ clock })
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let sampler
  /** Until the next sample, ms. */
  let interval = WORKING
  let last = { at: clock.monotonic(), cpuMs: clock.cpu() }
  /** Delays in this window, and the CPU time during them, ms. CPU time at other times has no meaning here. */
  let late = 0
  let lateCpuMs = 0
  let starting = true

  function sample () {
    const now = { at: clock.monotonic(), cpuMs: clock.cpu() }
    const delay = Math.max(0, now.at - last.at - interval)
    const cpuMs = now.cpuMs - last.cpuMs
    metrics.event_loop_delay_seconds.observe(delay / 1000)
    histogram.record(Math.max(1, Math.round(delay * NANOSECONDS)))
    if (delay > WORKING) {
      late += delay
      lateCpuMs += cpuMs
    }
    const resting = cpuMs < REST * (now.at - last.at)
    last = now
    interval = resting ? RESTING : WORKING
    plan()
  }

  function plan () { sampler = clock.timer(interval, sample).unref() }

  /** @param {number} p99 */
  function warn (p99) {
    const [lateMs, cpuMs] = [late, lateCpuMs]
    late = lateCpuMs = 0
    // the first window has the start of the process: its code is compiled then
    if (starting) { starting = false; return }
    if (p99 < LAG || !logLimit.due()) return
    log.warn(
      { p99Ms: Math.round(p99), lateMs: Math.round(lateMs), cpuMs: Math.round(cpuMs) },
      cpuMs >= OWN_PART * lateMs
        ? 'the event loop falls behind: this process has more work than one core can do; add workers or machines, or take a CPU profile'
        : 'the event loop is late although this process uses little CPU: other processes keep the machine busy, or a CPU limit (cgroup) ' +
          'stops this one; more workers would not help'
    )
  }

  return {
    start () {
      plan()
      timer = clock.every(window, () => {
        // without a sample there is no minimum or mean
        const value = (/** @type {number} */ nanoseconds) => histogram.count > 0 ? nanoseconds / NANOSECONDS : 0
        const p99 = value(histogram.percentile(99))
        const seconds = {
          min: value(histogram.min) / 1000,
          max: value(histogram.max) / 1000,
          mean: value(histogram.mean) / 1000,
          p50: value(histogram.percentile(50)) / 1000,
          p90: value(histogram.percentile(90)) / 1000,
          p99: p99 / 1000,
          stddev: value(histogram.stddev) / 1000
        }
        for (const quantile of /** @type {const} */ (['p50', 'p99', 'max']))
          metrics.event_loop_lag_seconds.set({ quantile }, seconds[quantile])
        if (metrics.loop !== undefined) {
          for (const [part, gauge] of Object.entries(metrics.loop))
            gauge.set(seconds[/** @type {keyof typeof seconds} */ (part)])
        }
        warn(p99)
        histogram.reset()
      }).unref()
    },
    stop () {
      timer?.stop()
      sampler?.stop()
    }
  }
}
