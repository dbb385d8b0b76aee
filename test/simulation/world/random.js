/**
 * Something that only a share of the worlds has. It is drawn apart, with a change of the seed: the other worlds stay
 * as they are.
 * @typedef {{ share: number, change: number }} Apart
 */

/** @param {number} seed @param {Apart} apart @returns {SeededRandom | undefined} */
export function drawnApart (seed, { share, change }) {
  const drawn = new SeededRandom(seed ^ change)
  return drawn.chance(share) ? drawn : undefined
}

/**
 * Random values of a seed (xoshiro128**, of which SplitMix32 makes the state). The same seed draws the same values on
 * each version of Node.
 */
export class SeededRandom {
  #a
  #b
  #c
  #d

  /** @param {number} seed */
  constructor (seed) {
    let state = seed >>> 0
    const mix = () => {
      state = (state + 0x9e3779b9) >>> 0
      let word = state
      word = Math.imul(word ^ (word >>> 16), 0x21f0aaad)
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
      return (word ^ (word >>> 15)) >>> 0
    }
    this.#a = mix()
    this.#b = mix()
    this.#c = mix()
    this.#d = mix() | 1
  }

  /** @returns {number} 32 bits */
  word () {
    const product = Math.imul(this.#b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result
  }

  /** @returns {number} 0 up to 1 */
  number = () => this.word() / 2 ** 32

  /** @param {number} from @param {number} to @returns {number} a whole one, `to` included */
  whole (from, to) { return from + Math.floor(this.number() * (to - from + 1)) }

  /** @param {number} probability 0 to 1 */
  chance (probability) { return this.number() < probability }

  /** @template T @param {readonly T[]} some at least one @returns {T} */
  pick (some) { return some[Math.floor(this.number() * some.length)] }

  /** A duration that is usually near the middle, and sometimes far from it, ms. @param {number} middle */
  duration (middle) { return middle * Math.exp(1.2 * (this.number() + this.number() + this.number() - 1.5)) }

  /** @param {number} count */
  bytes = (count) => {
    const bytes = Buffer.alloc(count)
    this.fill(bytes)
    return bytes
  }

  /** @param {Uint8Array} bytes */
  fill (bytes) {
    for (let at = 0; at < bytes.length; at += 4) {
      const word = this.word()
      for (let i = 0; i < 4 && at + i < bytes.length; i++) bytes[at + i] = word >>> (8 * i)
    }
  }

  /** @returns {string} */
  uuid = () => {
    const bytes = this.bytes(16)
    bytes[6] = (bytes[6] & 0x0f) | 0x40
    bytes[8] = (bytes[8] & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  /** Another source, whose values do not depend on how many this one draws later. @returns {SeededRandom} */
  fork () { return new SeededRandom(this.word()) }
}
