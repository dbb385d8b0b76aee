import { clock } from '../../client/common/clock.js'
import { interval } from '../../client/common/interval.js'
import { manualClock } from './manual-clock.js'

/**
 * The time of the clients in this process, which only the test moves on.
 *
 * @param {import('node:test').TestContext} t
 * @returns {import('./manual-clock.js').ManualClock}
 */
export function clientTime (t) {
  const time = manualClock()
  t.mock.method(clock, 'monotonic', time.monotonic)
  t.mock.method(clock, 'timer', time.timer)
  t.mock.method(interval, 'every', time.every)
  return time
}
