import { systemClock } from '../common/clock.js'

/**
 * A reload moves the clients of one worker after the other. The next worker's clients wait until most of those before
 * them are back: on a busy machine they would queue at the workers that accept, and time out there.
 */

/** Share of the moved clients that is enough; others may have gone to other machines, or for good. */
const MOST = 0.95
/** Arrivals per second, as a share of the moved clients, below which no more are expected. */
const FEW = 0.01
/** Maximum time, ms. */
const PATIENCE = 60_000
const EVERY = 1000

/**
 * @param {number} expected clients that were moved
 * @param {() => number | undefined} connections of the worker that accepts them; undefined: unknown, it does not say
 * @param {() => boolean} stopped ends it within a second
 * @param {Pick<import('../common/clock.js').Clock, 'monotonic' | 'sleep'>} [clock]
 * @returns {Promise<void>} resolves when most have arrived, few still do, or after a minute
 */
export async function untilArrived (expected, connections, stopped, clock = systemClock) {
  const end = clock.monotonic() + PATIENCE
  for (let before = connections() ?? 0; !stopped() && clock.monotonic() < end;) {
    const now = connections()
    if (now === undefined || now >= MOST * expected) return
    await clock.sleep(EVERY)
    const arrived = (connections() ?? 0) - before
    if (arrived < FEW * expected) return
    before += arrived
  }
}
