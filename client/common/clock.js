/**
 * Time for delays and deadlines, and timers, in one place, so that tests can replace them: those of
 * src/base/common/clock.js
 * that the core of the client uses. Not the time of day, because people and NTP set it.
 *
 * @typedef {{ stop: () => void }} Timer
 */
export const clock = {
  /** @returns {number} ms since some moment; never set and never goes back */
  monotonic: () => performance.now(),

  /** @param {number} ms @param {() => void} run once @returns {Timer} */
  timer (ms, run) {
    const id = setTimeout(run, ms)
    return { stop: () => clearTimeout(id) }
  }
}
