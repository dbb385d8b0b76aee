import { isUtf8 } from 'node:buffer'

/** Range of continuation bytes; the first byte of a character may narrow it. */
const [LOW, HIGH] = [0x80, 0xbf]

/**
 * Checks text that is received in pieces: whether it may be the start of valid UTF-8 (RFC 3629), so that invalid text
 * fails at its first wrong byte and not at its end (RFC 6455, 8.1).
 */
export class Utf8Prefix {
  /** Missing bytes of the last character. */
  #due = 0
  /** Range of the next byte. */
  #low = LOW
  #high = HIGH

  /** Whether the text may end here. */
  get complete () { return this.#due === 0 }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end of the next piece
   * @returns {boolean} false: invalid with any continuation
   */
  put (bytes, start, end) {
    let at = start
    while (this.#due > 0 && at < end) if (!this.#continues(bytes[at++])) return false
    // The last character may continue in the next piece.
    let last = end
    while (last > at && last > end - 4) if ((bytes[--last] & 0xc0) !== 0x80) break
    if (last > at && !isUtf8(bytes.subarray(at, last))) return false
    for (at = last; at < end; at++)
      if (!(this.#due === 0 ? this.#begins(bytes[at]) : this.#continues(bytes[at]))) return false
    return true
  }

  /** @param {number} byte */
  #begins (byte) {
    if (byte < 0x80) return true
    if (byte < 0xc2 || byte > 0xf4) return false
    this.#due = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    // No overlong forms, no surrogates, nothing above U+10FFFF.
    if (byte === 0xe0) this.#low = 0xa0
    else if (byte === 0xed) this.#high = 0x9f
    else if (byte === 0xf0) this.#low = 0x90
    else if (byte === 0xf4) this.#high = 0x8f
    return true
  }

  /** @param {number} byte */
  #continues (byte) {
    if (byte < this.#low || byte > this.#high) return false
    this.#low = LOW
    this.#high = HIGH
    this.#due--
    return true
  }
}
