/** Initial allocation, bytes: about twice a usual message. */
const FIRST = 1024
const NOTHING = Buffer.alloc(0)

/**
 * A buffer for bytes that are received in pieces. It allocates at most twice the bytes received, regardless of the
 * announced length: V8 schedules garbage collection by the capacity of buffers, not by their content.
 */
export class Growing {
  #buffer = NOTHING
  length = 0

  /** Bytes of memory. */
  get capacity () { return this.#buffer.length }

  /** The received bytes; the view is valid until the next `put`. */
  get bytes () { return this.#buffer.subarray(0, this.length) }

  /**
   * @param {Buffer} from
   * @param {number} start
   * @param {number} end
   * @param {number} most maximum length
   */
  put (from, start, end, most) {
    const length = this.length + end - start
    if (length > this.#buffer.length) {
      // Not from the pool: a few bytes would keep 8 KB of it alive.
      const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(most, Math.max(FIRST, 2 * length))))
      this.#buffer.copy(larger, 0, 0, this.length)
      this.#buffer = larger
    }
    from.copy(this.#buffer, this.length, start, end)
    this.length = length
  }
}
