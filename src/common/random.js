import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'

/**
 * The one source of random values. Parts that draw take it, so that tests can replace it; eslint.config.js forbids
 * Node's own elsewhere.
 *
 * @typedef {object} Random
 * @property {() => number} number 0 up to 1; not for secrets
 * @property {(count: number) => Buffer} bytes fit for secrets
 * @property {(buffer: Buffer) => void} fill a buffer with such bytes
 * @property {() => string} uuid a random one (RFC 9562, version 4)
 */

/** @type {Random} */
export const systemRandom = {
  number: Math.random,
  bytes: (count) => randomBytes(count),
  fill: (buffer) => { randomFillSync(buffer) },
  uuid: () => randomUUID()
}
