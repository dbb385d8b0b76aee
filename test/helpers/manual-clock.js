/**
 * A clock that the test advances.
 * @param {number} [start] ms since 1970
 * @returns {import('../../src/common/clock.js').Clock & { advance: (ms: number) => void, step: (ms: number) => void }}
 *   advance: time passes; step: the wall clock is set forward or back
 */
export function manualClock (start = 1_700_000_000_000) {
  let now = start
  let passed = 1000
  return {
    now: () => now,
    monotonic: () => passed,
    sleep: () => Promise.reject(new Error('this clock does not sleep')),
    advance (ms) {
      now += ms
      passed += ms
    },
    step (ms) { now += ms }
  }
}
