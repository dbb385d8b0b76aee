import { WORKERS } from '../redis/keys.js'

/** How old an answer may be, ms. A worker that has just taken its number serves nobody yet. */
const FRESH = 100

/**
 * Which worker numbers somebody has. Clients may make up session ids with any of them: one question to Redis serves all
 * that come within a tenth of a second.
 *
 * @param {object} dependencies
 * @param {{ scripts: Pick<import('../redis/scripts.js').Scripts, 'numbers'> }} dependencies.redis
 * @param {Pick<import('../common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createTakenNumbers ({ redis, clock }) {
  let asked = -Infinity
  /** @type {Promise<Set<number>>} */
  let taken = Promise.resolve(new Set())

  return {
    /** @param {number} number @returns {Promise<boolean>} @throws {Error} Redis is away */
    async has (number) {
      const now = clock.monotonic()
      if (now - asked >= FRESH) {
        asked = now
        taken = redis.scripts.numbers([WORKERS.expiry], []).then((numbers) => new Set(numbers.map(Number)))
      }
      return (await taken).has(number)
    }
  }
}
