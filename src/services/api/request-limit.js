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
 * Answers have a total of their own, and one caller has at most half of each limit: one that sends too much, or does
 * not read, keeps others neither from publishing nor from reading.
 */
export class RequestLimit {
  #maxRequests
  #maxBytes
  #all = none()
  /** Only of callers with a request in progress. @type {Map<string, InProgress>} by name */
  #ofCallers = new Map()

  /** @param {{ maxRequests: number, maxBytes: number }} bounds maxBytes: of all bodies, and of all answers */
  constructor ({ maxRequests, maxBytes }) {
    this.#maxRequests = maxRequests
    this.#maxBytes = maxBytes
  }

  /** Number of requests in progress. */
  get requests () { return this.#all.requests }

  /**
   * @param {number} size maximum bytes of the request's body; 0 if it is not known: see `grow`
   * @param {string} [caller] its name
   * @returns {Permit}
   * @throws {InkcastError} unavailable
   */
  enter (size, caller = '') {
    const own = this.#of(caller)
    this.#check(own, 'requests', 1, this.#maxRequests)
    this.#check(own, 'bytes', size, this.#maxBytes)
    this.#ofCallers.set(caller, own)
    this.#add(own, 'requests', 1)
    this.#add(own, 'bytes', size)
    return new Permit(this, caller, size)
  }

  /** Ends a request. @param {string} caller @param {{ bytes: number, answers: number }} held what it still counts */
  leave (caller, { bytes, answers }) {
    const own = this.#of(caller)
    this.#add(own, 'requests', -1)
    this.#add(own, 'bytes', -bytes)
    this.#add(own, 'answers', -answers)
    if (own.requests === 0) this.#ofCallers.delete(caller)
  }

  /** Counts bytes of a request. @param {string} caller @param {number} size @throws {InkcastError} unavailable */
  take (caller, size) {
    const own = this.#of(caller)
    this.#check(own, 'bytes', size, this.#maxBytes)
    this.#add(own, 'bytes', size)
  }

  /** Counts bytes of its answer. @param {string} caller @param {number} size @throws {InkcastError} unavailable */
  answer (caller, size) {
    const own = this.#of(caller)
    this.#check(own, 'answers', size, this.#maxBytes)
    this.#add(own, 'answers', size)
  }

  /** @param {string} caller */
  #of (caller) { return this.#ofCallers.get(caller) ?? none() }

  /** @param {InProgress} own @param {keyof InProgress} what @param {number} more @param {number} max of all callers */
  #check (own, what, more, max) {
    if (more <= 0) return
    if (own[what] + more > max / 2) throw new InkcastError('unavailable', `${FULL[what].own}; try again`)
    if (this.#all[what] + more > max) throw new InkcastError('unavailable', `${FULL[what].all}; try again`)
  }

  /** @param {InProgress} own @param {keyof InProgress} what @param {number} change */
  #add (own, what, change) {
    own[what] += change
    this.#all[what] += change
  }
}

/** @typedef {{ requests: number, bytes: number, answers: number }} InProgress bytes: of bodies; answers: their bytes */

/** @returns {InProgress} */
const none = () => ({ requests: 0, bytes: 0, answers: 0 })

const TOO_MANY = {
  own: 'the caller has too many requests in progress',
  all: 'too many requests are in progress'
}
/** Why a limit refuses: that of a caller, and that of all. @type {Record<keyof InProgress, typeof TOO_MANY>} */
const FULL = {
  requests: TOO_MANY,
  bytes: TOO_MANY,
  answers: { own: 'the caller has not read its other answers yet', all: 'callers have not read their answers yet' }
}

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
    this.#limit.take(this.#caller, bytes)
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
    this.#limit.leave(this.#caller, { bytes: this.#size, answers: this.#answer })
  }
}
