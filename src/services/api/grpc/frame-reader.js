import { InkcastError } from '../../../base/common/errors.js'

/** Flag and length in front of each message. */
const HEAD = 5
/** First allocation for a message that arrives in pieces; a length is a claim, so memory follows the bytes. */
const FIRST = 1024

/**
 * Cuts the bytes of one call into messages (gRPC over HTTP/2, "Length-Prefixed-Message").
 *
 * @typedef {object} Frame
 * @property {boolean} compressed
 * @property {Buffer} bytes a copy: the bytes of a socket are part of a larger buffer
 */
export class FrameReader {
  #maxBytes
  #head = Buffer.alloc(HEAD)
  #headLength = 0
  #length = 0
  #filled = 0
  /** @type {Buffer | undefined} */
  #body

  /** @param {number} maxBytes of one message */
  constructor (maxBytes) {
    this.#maxBytes = maxBytes
  }

  /** Bytes in memory for a message that has not ended. */
  get held () { return this.#body?.length ?? 0 }

  /** Whether a message has begun and not ended. */
  get begun () { return this.#headLength > 0 }

  /**
   * @param {Buffer} chunk
   * @returns {Frame[]} messages that end in it
   * @throws {InkcastError} value_too_large
   */
  read (chunk) {
    /** @type {Frame[]} */
    const frames = []
    for (let at = 0; at < chunk.length;) {
      if (this.#headLength < HEAD) {
        const taken = chunk.copy(this.#head, this.#headLength, at)
        at += taken
        this.#headLength += taken
        if (this.#headLength < HEAD) break
        this.#length = this.#head.readUInt32BE(1)
        if (this.#length > this.#maxBytes) {
          throw new InkcastError(
            'value_too_large', `the message has ${this.#length} bytes, ${this.#maxBytes} are allowed`
          )
        }
      }
      const taken = Math.min(this.#length - this.#filled, chunk.length - at)
      const body = this.#bodyFor(this.#filled + taken)
      chunk.copy(body, this.#filled, at, at + taken)
      at += taken
      this.#filled += taken
      if (this.#filled < this.#length) break
      frames.push({ compressed: this.#head[0] === 1, bytes: body })
      this.#body = undefined
      this.#headLength = this.#filled = 0
    }
    return frames
  }

  /** @param {number} needed bytes @returns {Buffer} */
  #bodyFor (needed) {
    if (this.#body !== undefined && this.#body.length >= needed) return this.#body
    const size = needed === this.#length ? needed : Math.max(needed, 2 * this.held, FIRST)
    const larger = Buffer.allocUnsafe(Math.min(size, this.#length))
    this.#body?.copy(larger, 0, 0, this.#filled)
    return this.#body = larger
  }
}
