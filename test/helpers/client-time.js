import { clock } from '../../client/common/clock.js'
import { interval } from '../../client/common/interval.js'
import { manualClock } from './manual-clock.js'

const { monotonic, timer } = clock
const { every } = interval

/**
 * The time of the clients in this process, which only the test moves on. Afterwards it is real again, also if the test
 * has called this more than once.
 *
 * @param {import('node:test').TestContext} t
 * @returns {import('./manual-clock.js').ManualClock}
 */
export function clientTime (t) {
  const time = manualClock()
  Object.assign(clock, { monotonic: time.monotonic, timer: time.timer })
  interval.every = time.every
  t.after(() => {
    Object.assign(clock, { monotonic, timer })
    interval.every = every
  })
  return time
}
