/**
 * The one source of time. Parts that wait, stamp or measure take a clock, so that tests can replace it.
 *
 * Durations, deadlines and pauses are measured with `monotonic`: people and NTP set the wall clock, and a step of it
 * must neither delay nor hasten anything. `now` is for times that leave the process or are compared with times of other
 * machines (`exp` of a token, a record's timestamp); eslint.config.js lists the files that may call it.
 *
 * @typedef {object} Clock
 * @property {() => number} now ms since 1970
 * @property {() => number} monotonic ms, with a fraction, since some moment of this process; never goes back and is
 *   never set
 * @property {(ms: number, signal?: AbortSignal) => Promise<void>} sleep resolves after ms, rejects with the signal's
 *   reason
 */
import { setTimeout as delay } from 'node:timers/promises'

/** @type {Clock} */
export const systemClock = {
  now: Date.now,
  monotonic: () => performance.now(),
  // Node rejects with an AbortError of its own that has the reason as its cause
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => { throw signal?.reason })
}
