/**
 * A clock that a test moves itself.
 * @param {number} [start] ms since 1970
 * @returns {import('../../src/clock.js').Clock & { advance: (ms: number) => void }}
 */
export function manualClock (start = 1_700_000_000_000) {
  let now = start
  return {
    now: () => now,
    sleep: () => Promise.reject(new Error('this clock does not sleep')),
    advance (ms) { now += ms }
  }
}
