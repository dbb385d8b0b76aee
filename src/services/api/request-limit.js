import { InkcastError } from '../../base/common/errors.js'

/** Bounds of one port of the api, HTTP or gRPC. */
export const MAX_CONNECTIONS = 5000
const MAX_REQUESTS = 1000
/**
 * Maximum bytes of all bodies in progress, and of all answers: this, or this number of the largest body if that is
 * more.
 */
const MAX_BODY_BYTES = 64 * 2 ** 20
const MAX_LARGEST_BODIES = 8

/**
 * @param {number} maxRecordBytes
 * @param {number} [maxRequests]
 * @returns {RequestLimit} the limit of one port
 */
export const requestLimitFor = (maxRecordBytes, maxRequests = MAX_REQUESTS) => new RequestLimit({
  maxRequests, maxBytes: Math.max(MAX_BODY_BYTES, MAX_LARGEST_BODIES * maxRecordBytes)
})

/**
 * Limits the requests in progress, the bytes of their bodies and the bytes of answers that were not read yet, so that
 * memory stays bounded when the bus or Kafka is slow, or a caller does not read. Above the limit callers are refused
 * and may retry.
 *
 * Answers have a total of their own, and one caller has at most half of it: a caller that does not read keeps others
 * neither from publishing nor from reading.
 */
export class RequestLimit {
  #maxRequests
  #maxBytes
  requests = 0
  #bytes = 0
  #answers = 0
  /** Bytes of answers by caller: only of callers with an answer in progress. @type {Map<string, number>} */
  #ofCallers = new Map()

  /** @param {{ maxRequests: number, maxBytes: number }} bounds maxBytes: of all bodies, and of all answers */
  constructor ({ maxRequests, maxBytes }) {
    this.#maxRequests = maxRequests
    this.#maxBytes = maxBytes
  }

  /**
   * @param {number} size maximum bytes of the request's body; 0 if it is not known: see `grow`
   * @param {string} [caller] its name
   * @returns {Permit}
   * @throws {InkcastError} unavailable
   */
  enter (size, caller = '') {
    if (this.requests >= this.#maxRequests) throw tooMany()
    this.take(size)
    this.requests++
    return new Permit(this, caller, size)
  }

  /** Counts bytes of a request. @param {number} size @throws {InkcastError} unavailable */
  take (size) {
    if (size > 0 && this.#bytes + size > this.#maxBytes) throw tooMany()
    this.#bytes += size
  }

  /** Counts bytes of an answer. @param {string} caller @param {number} change @throws {InkcastError} unavailable */
  answer (caller, change) {
    const own = (this.#ofCallers.get(caller) ?? 0) + change
    if (change > 0 && own > this.#maxBytes / 2)
      throw new InkcastError('unavailable', 'the caller has not read its other answers yet; try again')
    if (change > 0 && this.#answers + change > this.#maxBytes)
      throw new InkcastError('unavailable', 'callers have not read their answers yet; try again')
    this.#answers += change
    if (own === 0) this.#ofCallers.delete(caller)
    else this.#ofCallers.set(caller, own)
  }
}

const tooMany = () => new InkcastError('unavailable', 'too many requests are in progress; try again')

/**
 * The permit of one request. It ends when all its holders have released it: the response, and the operation, which
 * continues when its caller has disconnected.
 */
export class Permit {
  #holders = 1
  #size
  #answer = 0
  #limit
  #caller

  /** @param {RequestLimit} limit @param {string} caller @param {number} size bytes that are counted already */
  constructor (limit, caller, size) {
    this.#limit = limit
    this.#caller = caller
    this.#size = size
  }

  hold () { this.#holders++ }

  /**
   * Counts bytes of a request as they arrive; negative: they are no longer in memory.
   * @param {number} bytes
   * @throws {InkcastError} unavailable
   */
  grow (bytes) {
    if (this.#holders <= 0) return
    this.#limit.take(bytes)
    this.#size += bytes
  }

  /**
   * Counts the answer until the permit ends. An operation with a large answer calls it while it makes the answer.
   * @param {number} bytes of the answer until now, all together
   * @throws {InkcastError} unavailable
   */
  answer (bytes) {
    const more = bytes - this.#answer
    if (more <= 0 || this.#holders <= 0) return
    this.#limit.answer(this.#caller, more)
    this.#answer = bytes
  }

  release () {
    if (--this.#holders !== 0) return
    this.#limit.take(-this.#size)
    this.#limit.requests--
    if (this.#answer > 0) this.#limit.answer(this.#caller, -this.#answer)
  }
}
