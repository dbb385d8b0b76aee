import crypto from 'node:crypto'
import { currentWorld } from './now.js'

/** Random values of a world: those of the process whose turn it is. */

/** @returns {import('./random.js').SeededRandom | undefined} undefined: Node's own */
export const drawn = () => {
  const world = currentWorld()
  return world && (world.current?.drawn ?? world.random)
}
const { random } = Math
Math.random = () => drawn()?.number() ?? random()

/** @param {any} bytes an array or view @param {number} [offset] @param {number} [size] in its elements */
function fill (bytes, offset = 0, size) {
  const source = /** @type {import('./random.js').SeededRandom} */ (drawn())
  if (bytes instanceof ArrayBuffer) source.fill(new Uint8Array(bytes, offset, size))
  else {
    const part = bytes.subarray?.(offset, size === undefined ? undefined : offset + size) ?? bytes
    source.fill(new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
  }
  return bytes
}

/** @param {unknown} done a callback of one of the functions below @param {any} value */
function tell (done, value) {
  if (typeof done !== 'function') return value
  setImmediate(() => done(null, value))
}

const { randomBytes, randomFill, randomFillSync, randomUUID, randomUUIDv7, randomInt } = /** @type {any} */ (crypto)
Object.assign(crypto, {
  randomBytes: (/** @type {number} */ size, /** @type {unknown} */ done) => {
    const source = drawn()
    return source === undefined ? randomBytes(size, done) : tell(done, source.bytes(size))
  },
  randomFillSync: (/** @type {any} */ bytes, /** @type {any[]} */ ...range) =>
    drawn() === undefined ? randomFillSync(bytes, ...range) : fill(bytes, ...range),
  randomFill: (/** @type {any} */ bytes, /** @type {any[]} */ ...range) => {
    if (drawn() === undefined) return randomFill(bytes, ...range)
    const done = range.pop()
    tell(done, fill(bytes, ...range))
  },
  randomUUID: (/** @type {unknown} */ options) => drawn()?.uuid() ?? randomUUID(options),
  // Node 24
  ...randomUUIDv7 && { randomUUIDv7: (/** @type {unknown} */ options) => drawn()?.uuid() ?? randomUUIDv7(options) },
  randomInt: (/** @type {number} */ low, /** @type {any} */ high, /** @type {unknown} */ done) => {
    const source = drawn()
    if (source === undefined) return randomInt(low, high, done)
    return typeof high === 'number'
      ? tell(done, source.whole(low, high - 1))
      : tell(high, source.whole(0, low - 1))
  }
})

const { webcrypto } = crypto
const getRandomValues = webcrypto.getRandomValues.bind(webcrypto)
webcrypto.getRandomValues = (/** @type {any} */ bytes) => drawn() === undefined ? getRandomValues(bytes) : fill(bytes)
webcrypto.randomUUID = /** @type {any} */ (crypto.randomUUID)
