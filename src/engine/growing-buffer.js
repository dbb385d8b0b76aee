/** Memory taken at first, bytes: as much again as what a client sends in one go, mostly. */
const FIRST = 1024
const NOTHING = Buffer.alloc(0)

/**
 * Bytes that come in pieces. Memory is taken for what has come and at most as much again, whatever was announced: V8
 * collects garbage by what buffers may hold, not by what is in them.
 */
export class Growing {
  #buffer = NOTHING
  length = 0

  /** Bytes of memory. */
  get capacity () { return this.#buffer.length }

  /** What has come; a view until more comes. */
  get bytes () { return this.#buffer.subarray(0, this.length) }

  /**
   * @param {Buffer} from
   * @param {number} start
   * @param {number} end
   * @param {number} most how long it may become
   */
  put (from, start, end, most) {
    const length = this.length + end - start
    if (length > this.#buffer.length) {
      // not out of the pool, of which a few bytes would keep 8 KB
      const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(most, Math.max(FIRST, 2 * length))))
      this.#buffer.copy(larger, 0, 0, this.length)
      this.#buffer = larger
    }
    from.copy(this.#buffer, this.length, start, end)
    this.length = length
  }
}
