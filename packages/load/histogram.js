/**
 * Latencies in buckets of equal ratio: 16 for each doubling, so a quantile is at most 4.5 % too high. Histograms of
 * several processes are added up.
 */

const PER_DOUBLING = 16
/** Upper bound of the first bucket, ms. */
const FIRST = 0.05
/** Up to 0.05 ms × 2^25: 28 minutes. */
const BUCKETS = 25 * PER_DOUBLING

export class Histogram {
  /** Highest value, ms. */
  max = 0
  count = 0
  #buckets = new Uint32Array(BUCKETS)

  /** @param {number} ms */
  add (ms) {
    this.#buckets[bucketOf(ms)]++
    this.count++
    if (ms > this.max) this.max = ms
  }

  /** @param {number} share 0 to 1 @returns {number | null} ms; null: there is no value */
  quantile (share) {
    if (this.count === 0) return null
    let left = Math.max(1, Math.ceil(share * this.count))
    for (let i = 0; i < BUCKETS; i++) {
      left -= this.#buckets[i]
      if (left <= 0) return Math.min(this.max, FIRST * 2 ** (i / PER_DOUBLING))
    }
    return this.max
  }

  /** @returns {Packed} its values, which it forgets */
  take () {
    /** @type {[number, number][]} */
    const buckets = []
    this.#buckets.forEach((count, i) => { if (count > 0) buckets.push([i, count]) })
    const packed = { max: this.max, buckets }
    this.#buckets.fill(0)
    this.max = this.count = 0
    return packed
  }

  /** @param {Packed} packed */
  merge ({ max, buckets }) {
    for (const [i, count] of buckets) {
      this.#buckets[i] += count
      this.count += count
    }
    if (max > this.max) this.max = max
  }
}

/** @typedef {{ max: number, buckets: [number, number][] }} Packed number of values by bucket */

/** @param {number} ms */
const bucketOf = (ms) =>
  ms <= FIRST ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / FIRST) * PER_DOUBLING))
