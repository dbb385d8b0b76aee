/** Maximum age of a reply, ms. A worker that has just leased its number has no sessions yet. */
const FRESH = 100

/**
 * Tells which worker numbers are leased. Clients can invent session ids with any number, so one query to Redis serves
 * all requests within 100 ms.
 *
 * @param {object} dependencies
 * @param {{ scripts: Pick<import('../../redis/scripts.js').Scripts, 'numbers'>,
 *   keys: Pick<import('../../redis/keys.js').Keys, 'workers'> }} dependencies.redis
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createTakenNumbers ({ redis, clock }) {
  const { expiry, watched } = redis.keys.workers
  let asked = -Infinity
  /** @type {Promise<Set<number>>} */
  let taken = Promise.resolve(new Set())

  return {
    /** @param {number} number @returns {Promise<boolean>} @throws {Error} Redis is unavailable */
    async has (number) {
      const now = clock.monotonic()
      if (now - asked >= FRESH) {
        asked = now
        taken = redis.scripts.numbers([expiry, watched], [])
          .then((numbers) => new Set(numbers.map(Number)))
      }
      return (await taken).has(number)
    }
  }
}
