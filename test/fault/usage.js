import { usageOf } from '../../bench/measure/processes.js'

/** Sampling interval, ms. */
const EVERY = 250

/**
 * Watches CPU and memory of processes during a fault.
 * @param {number[]} pids processes that end are left out from then on
 */
export function watchUsage (pids) {
  const first = new Map(pids.map((pid) => [pid, usageOf(pid)]))
  const last = new Map(first)
  let most = 0
  /** Highest CPU usage of a process in a second or so, percent of a core. */
  let busiest = 0
  let cpuMs = 0
  let at = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [pid, before] of last) {
      try {
        const usage = usageOf(pid)
        most = Math.max(most, usage.residentKb)
        busiest = Math.max(busiest, (usage.cpuMs - before.cpuMs) / (now - at))
        cpuMs += usage.cpuMs - before.cpuMs
        last.set(pid, usage)
      } catch {
        last.delete(pid)
      }
    }
    at = now
  }, EVERY)
  return {
    /** @param {number} pid one more process to watch */
    add (pid) { if (!last.has(pid)) last.set(pid, usageOf(pid)) },

    /**
     * @returns {{ before: number, most: number, busiest: number, cpu: number }} MB of the largest process before, and
     *   the maximum; percent of a core; CPU seconds of all processes
     */
    stop () {
      clearInterval(timer)
      return {
        before: Math.round(Math.max(...[...first.values()].map(({ residentKb }) => residentKb)) / 1024),
        most: Math.round(most / 1024),
        busiest: Math.round(busiest * 100),
        cpu: Math.round(cpuMs / 100) / 10
      }
    }
  }
}
