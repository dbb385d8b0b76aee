import { randomBytes, randomUUID } from 'node:crypto'

/**
 * The one source of random values. Parts that draw take it, so that tests can replace it; eslint.config.js forbids
 * Node's own elsewhere.
 *
 * @typedef {object} Random
 * @property {() => number} number 0 up to 1; not for secrets
 * @property {(count: number) => Buffer} bytes fit for secrets
 * @property {() => string} uuid a random one (RFC 9562, version 4)
 */

/** Bytes drawn together: a system call for each few would cost more than what they are for. */
const POOL = 1024

/** @returns {Random} */
function createSystemRandom () {
  let pool = Buffer.alloc(0)
  let used = 0
  return {
    number: Math.random,
    bytes (count) {
      if (count > POOL / 8) return randomBytes(count)
      if (used + count > pool.length) {
        // another buffer: those that were handed out keep their bytes
        pool = randomBytes(POOL)
        used = 0
      }
      used += count
      return pool.subarray(used - count, used)
    },
    uuid: () => randomUUID()
  }
}

export const systemRandom = createSystemRandom()
