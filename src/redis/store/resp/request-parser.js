/** Exported for tests: bytes of one request at most; inkcast's longest ones are a publication of some megabytes. */
export const MAX_REQUEST_BYTES = 64 * 1024 * 1024
/** Exported for tests: arguments of one request at most. */
export const MAX_ARGUMENTS = 1024 * 1024
/** Exported for tests: bytes of a line, which is the header of a request or of an argument, at most. */
export const MAX_LINE_BYTES = 64 * 1024

const CR = 13
const DOLLAR = 36
const DIGITS = /^(?:0|-?[1-9]\d{0,15})$/

/** The connection cannot go on; the message is Redis' own. */
export class ProtocolError extends Error {}

/**
 * Reads requests from the bytes of a connection, wherever these are split. An argument is copied once, from the chunk
 * that contains it; a long one waits until all its chunks are there.
 */
export class RequestParser {
  /** @type {Buffer[]} */
  #chunks = []
  #size = 0
  /** Bytes without which parsing cannot go on. */
  #needed = 1
  #at = 0
  /** Arguments of the request that has begun. @type {string[]} */
  #args = []
  #missing = 0
  #bulk = -1
  #bytes = 0

  /** Bytes that were received and not parsed, and those of the request that has begun. */
  get pending () { return this.#size - this.#at + this.#bytes }

  /** @param {Buffer} chunk */
  push (chunk) {
    this.#chunks.push(chunk)
    this.#size += chunk.length
  }

  /**
   * @returns {string[] | undefined} the next request, never empty; undefined until more bytes have come
   * @throws {ProtocolError}
   */
  next () {
    while (this.#size >= this.#needed && this.#size > this.#at) {
      if (this.#chunks.length > 1) this.#join()
      const buffer = this.#chunks[0]
      const args = this.#missing > 0 ? this.#argument(buffer) : this.#begin(buffer)
      if (args === null) break
      if (args !== undefined) return args
    }
    this.#drop()
    return undefined
  }

  #join () {
    const [first, ...others] = this.#chunks
    this.#chunks = [Buffer.concat([first.subarray(this.#at), ...others])]
    this.#size -= this.#at
    this.#at = 0
  }

  /** Forgets what was parsed. */
  #drop () {
    if (this.#at === 0) return
    const rest = this.#size - this.#at
    this.#chunks = rest === 0 ? [] : [this.#chunks[0].subarray(this.#at), ...this.#chunks.slice(1)]
    this.#needed = Math.max(1, this.#needed - this.#at)
    this.#size = rest
    this.#at = 0
  }

  /**
   * @param {Buffer} buffer
   * @returns {string[] | undefined | null} null: bytes are missing
   */
  #begin (buffer) {
    const line = this.#line(buffer, 'too big mbulk count string')
    if (line === undefined) return null
    if (line[0] !== '*') throw new ProtocolError(`expected '*', got '${line.slice(0, 1)}'`)
    const count = DIGITS.test(line.slice(1)) ? Number(line.slice(1)) : Number.NaN
    if (!(count <= MAX_ARGUMENTS)) throw new ProtocolError('invalid multibulk length')
    this.#args = []
    this.#bytes = 0
    this.#missing = Math.max(0, count)
    return undefined
  }

  /**
   * @param {Buffer} buffer
   * @returns {string[] | undefined | null}
   */
  #argument (buffer) {
    if (this.#bulk < 0) {
      const line = this.#line(buffer, 'too big bulk count string')
      if (line === undefined) return null
      if (line.charCodeAt(0) !== DOLLAR) throw new ProtocolError(`expected '$', got '${line.slice(0, 1)}'`)
      const length = DIGITS.test(line.slice(1)) ? Number(line.slice(1)) : -1
      if (length < 0 || this.#bytes + length > MAX_REQUEST_BYTES) throw new ProtocolError('invalid bulk length')
      this.#bulk = length
      this.#bytes += length
    }
    const end = this.#at + this.#bulk
    this.#needed = end + 2
    if (this.#size < this.#needed) return null
    this.#args.push(buffer.toString('latin1', this.#at, end))
    this.#at = end + 2
    this.#needed = this.#at + 1
    this.#bulk = -1
    if (--this.#missing > 0) return undefined
    const args = this.#args
    this.#args = []
    this.#bytes = 0
    return args
  }

  /**
   * @param {Buffer} buffer
   * @param {string} tooLong
   * @returns {string | undefined} the line without its end
   */
  #line (buffer, tooLong) {
    const at = buffer.indexOf(CR, this.#at)
    const length = (at === -1 ? buffer.length : at) - this.#at
    if (length > MAX_LINE_BYTES) throw new ProtocolError(tooLong)
    // the line feed is not compared, as in Redis
    const next = at + 2
    if (at === -1 || next > buffer.length) {
      this.#needed = this.#size + 1
      return undefined
    }
    const line = buffer.toString('latin1', this.#at, at)
    this.#at = next
    this.#needed = next + 1
    return line
  }
}
