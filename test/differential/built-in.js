import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createStore } from '../../src/redis/store/store.js'

/** Never runs: keys expire when they are touched, as in Redis without its active expiry. */
const NEVER = { stop () {}, unref: () => NEVER }

/**
 * The built-in store on a clock that is set.
 * @returns {Promise<import('./peer.js').Server>}
 */
export async function startStore () {
  let ms = 0
  const clock = { ...systemClock, now: () => ms, every: () => NEVER }
  const store = createStore({ clock, random: systemRandom })
  return {
    name: 'built-in store',
    connect: () => store.connect(),
    // a fraction of a microsecond more: the double nearest to a time may be just before it
    setTime (us) { ms = (us + 0.25) / 1000 }
  }
}
