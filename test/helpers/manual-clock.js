/**
 * A clock that the test advances, with its timers.
 *
 * @typedef {import('../../src/base/common/clock.js').Clock & ManualTime} ManualClock
 *
 * @typedef {object} ManualTime
 * @property {(ms: number) => void} advance time passes: what becomes due by then runs at its time, in order
 * @property {(ms: number) => Promise<void>} pass as `advance`; promises settle after each run, and at the end
 * @property {(ms: number) => void} stall time passes in which this process could run nothing: timers are late
 * @property {(ms: number) => void} step the wall clock is set forward or back
 * @property {() => void} turn what was to run `soon` runs
 * @property {number} timers number of timers that wait to run
 *
 * @typedef {{ at: number, every: number | null, run: () => void }} Waiting
 *
 * @param {number} [start] ms since 1970
 * @returns {ManualClock}
 */
export function manualClock (start = 1_700_000_000_000) {
  let now = start
  let passed = 1000
  /** In the order in which they began. @type {Set<Waiting>} */
  const waiting = new Set()
  /** @type {Set<() => void>} */
  let turns = new Set()

  /** @param {number} ms */
  function stall (ms) {
    now += ms
    passed += ms
  }

  /** @param {number} ms @param {number | null} every @param {() => void} run */
  function begin (ms, every, run) {
    // as Node: at least 1 ms
    const one = { at: passed + Math.max(1, ms), every, run }
    waiting.add(one)
    const timer = { stop () { waiting.delete(one) }, unref: () => timer }
    return timer
  }

  /** @param {number} end @returns {boolean} whether one was due */
  function runNext (end) {
    /** @type {Waiting | undefined} */
    let next
    for (const one of waiting) if (one.at <= end && (next === undefined || one.at < next.at)) next = one
    if (next === undefined) return false
    if (next.at > passed) stall(next.at - passed)
    waiting.delete(next)
    if (next.every !== null) {
      next.at = passed + Math.max(1, next.every)
      waiting.add(next)
    }
    next.run()
    return true
  }

  function turn () {
    const due = turns
    turns = new Set()
    for (const run of due) if (due.delete(run)) run()
  }

  const settled = () => new Promise((resolve) => { setImmediate(resolve) })

  /** @type {ManualClock} */
  const clock = {
    now: () => now,
    monotonic: () => passed,
    cpu: () => 0,
    timer: (ms, run) => begin(ms, null, run),
    every: (ms, run) => begin(ms, ms, run),
    soon (run) {
      const own = () => run()
      turns.add(own)
      const set = turns
      return { stop () { set.delete(own) } }
    },
    sleep: (ms, signal) => new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const abort = () => {
        timer.stop()
        reject(signal?.reason)
      }
      const timer = begin(ms, null, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      signal?.addEventListener('abort', abort, { once: true })
    }),
    advance (ms) {
      const end = passed + ms
      turn()
      while (runNext(end)) turn()
      if (end > passed) stall(end - passed)
    },
    async pass (ms) {
      const end = passed + ms
      do {
        for (let quiet = false; !quiet; turn()) {
          await settled()
          quiet = turns.size === 0
        }
      } while (runNext(end))
      if (end > passed) stall(end - passed)
    },
    stall,
    step (ms) { now += ms },
    turn,
    get timers () { return waiting.size }
  }
  return clock
}
