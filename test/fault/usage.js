import { usageOf } from '../../bench/measure/processes.js'

/** How often it is looked, ms. */
const EVERY = 250

/**
 * Watches what processes use while something happens to them.
 * @param {number[]} pids those that end meanwhile are left out from then on
 */
export function watchUsage (pids) {
  const first = new Map(pids.map((pid) => [pid, usageOf(pid)]))
  const last = new Map(first)
  let most = 0
  /** Of one core, by the busiest process in the busiest second or so. */
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
    /** @param {number} pid one more to watch */
    add (pid) { if (!last.has(pid)) last.set(pid, usageOf(pid)) },

    /**
     * @returns {{ before: number, most: number, busiest: number, cpu: number }} MB of the largest process before and at
     *   most; percent of a core; s of all together
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
