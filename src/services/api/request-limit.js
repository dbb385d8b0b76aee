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
 * @returns {ReturnType<typeof createRequestLimit>} the limit of one port
 */
export const requestLimitFor = (maxRecordBytes, maxRequests = MAX_REQUESTS) => createRequestLimit({
  maxRequests, maxBytes: Math.max(MAX_BODY_BYTES, MAX_LARGEST_BODIES * maxRecordBytes)
})

/**
 * Limits the requests in progress, the bytes of their bodies and the bytes of answers that were not read yet, so that
 * memory stays bounded when the bus or Kafka is slow, or a caller does not read. Above the limit callers are refused
 * and may retry.
 *
 * Exported for tests: smaller bounds than those of a port.
 *
 * Answers have a total of their own, and one caller has at most half of it: a caller that does not read keeps others
 * neither from publishing nor from reading.
 *
 * @param {{ maxRequests: number, maxBytes: number }} bounds maxBytes: of all bodies, and of all answers
 */
export function createRequestLimit ({ maxRequests, maxBytes }) {
  let requests = 0
  let bytes = 0
  let answers = 0
  /** Bytes of answers by caller: only of callers with an answer in progress. @type {Map<string, number>} */
  const ofCallers = new Map()

  /** @param {string} caller @param {number} change */
  function countAnswer (caller, change) {
    answers += change
    const own = (ofCallers.get(caller) ?? 0) + change
    if (own === 0) ofCallers.delete(caller)
    else ofCallers.set(caller, own)
  }

  /** @param {number} size @throws {InkcastError} unavailable */
  function take (size) {
    if (size > 0 && bytes + size > maxBytes) throw tooMany()
    bytes += size
  }

  return {
    get requests () { return requests },

    /**
     * @param {number} size maximum bytes of the request's body; 0 if it is not known: see `grow`
     * @param {string} [caller] its name
     * @returns {Permit}
     * @throws {InkcastError} unavailable
     */
    enter (size, caller = '') {
      if (requests >= maxRequests) throw tooMany()
      take(size)
      requests++
      return new Permit(size, {
        take,
        free (answer) {
          requests--
          if (answer > 0) countAnswer(caller, -answer)
        },
        answer (more) {
          if ((ofCallers.get(caller) ?? 0) + more > maxBytes / 2)
            throw new InkcastError('unavailable', 'the caller has not read its other answers yet; try again')
          if (answers + more > maxBytes)
            throw new InkcastError('unavailable', 'callers have not read their answers yet; try again')
          countAnswer(caller, more)
        }
      })
    }
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

  /**
   * @param {number} size bytes of the request that are counted already
   * @param {object} limit
   * @param {(more: number) => void} limit.take throws
   * @param {(answer: number) => void} limit.free
   * @param {(more: number) => void} limit.answer throws
   */
  constructor (size, limit) {
    this.#size = size
    this.#limit = limit
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
    this.#limit.answer(more)
    this.#answer = bytes
  }

  release () {
    if (--this.#holders !== 0) return
    this.#limit.take(-this.#size)
    this.#limit.free(this.#answer)
  }
}
