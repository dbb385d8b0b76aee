import { systemClock } from '../../src/base/common/clock.js'

/**
 * A clock with the time of the test and the timers of Node: for parts that work with real files and connections.
 *
 * @template {import('../../src/base/common/clock.js').Clock} C
 * @param {C} clock
 * @returns {C}
 */
export function withRealTimers (clock) {
  const { timer, every, soon, sleep } = systemClock
  return { ...clock, timer, every, soon, sleep }
}
