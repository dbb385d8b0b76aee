import { setTimeout as delay } from 'node:timers/promises'

/**
 * The one source of time. Parts that wait, stamp or measure take a clock, so that tests can replace it;
 * eslint.config.js forbids Node's own timers and times elsewhere.
 *
 * Durations, deadlines and pauses are measured with `monotonic`: people and NTP set the wall clock, and a step of it
 * must neither delay nor hasten anything. `now` is for times that leave the process or are compared with times of other
 * machines (`exp` of a token, a record's timestamp); eslint.config.js lists the files that may call it.
 *
 * @typedef {object} Clock
 * @property {() => number} now ms since 1970
 * @property {() => number} monotonic ms, with a fraction, since some moment of this process; never goes back and is
 *   never set
 * @property {() => number} cpu CPU time of this thread, before Node 23.9 of all threads of the process, ms. Kernels
 *   that count a thread's time in ticks say 0 or a whole tick for short work; only sums are right
 * @property {(ms: number, signal?: AbortSignal) => Promise<void>} sleep resolves after ms, rejects with the signal's
 *   reason
 * @property {(ms: number, run: () => void) => Timer} timer runs once, after ms
 * @property {(ms: number, run: () => void) => Timer} every runs each ms; the next interval begins when it runs
 * @property {(run: () => void) => Pick<Timer, 'stop'>} soon runs once, after what this process has received by now
 *
 * @typedef {object} Timer
 * @property {() => void} stop it runs no more; harmless when it has run
 * @property {() => Timer} unref the process may end before it runs
 */

const { cpuUsage, threadCpuUsage = cpuUsage } = /** @type {any} */ (process)

/** @type {Clock} */
export const systemClock = {
  now: Date.now,
  monotonic: () => performance.now(),
  cpu () {
    const { user, system } = threadCpuUsage()
    return (user + system) / 1000
  },
  // Node rejects with an AbortError of its own that has the reason as its cause
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => { throw signal?.reason }),
  timer: (ms, run) => new SystemTimer(setTimeout(run, ms)),
  every: (ms, run) => new SystemTimer(setInterval(run, ms)),
  soon: (run) => new Turn(setImmediate(run))
}

/** @implements {Timer} */
class SystemTimer {
  #timeout

  /** @param {NodeJS.Timeout} timeout */
  constructor (timeout) { this.#timeout = timeout }

  stop () { clearTimeout(this.#timeout) }

  unref () {
    this.#timeout.unref()
    return this
  }
}

class Turn {
  #immediate

  /** @param {NodeJS.Immediate} immediate */
  constructor (immediate) { this.#immediate = immediate }

  stop () { clearImmediate(this.#immediate) }
}
