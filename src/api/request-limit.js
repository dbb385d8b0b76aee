import { InkcastError } from '../common/errors.js'

/**
 * Limits the requests in progress, the bytes of their bodies and the bytes of answers that were not read yet, so that
 * memory stays bounded when the bus or Kafka is slow, or a caller does not read. Above the limit callers are refused
 * and may retry.
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

  return {
    get requests () { return requests },

    /**
     * @param {number} size maximum bytes of the request's body
     * @param {string} [caller] its name
     * @returns {Permit}
     * @throws {InkcastError} unavailable
     */
    enter (size, caller = '') {
      if (requests >= maxRequests || bytes + size > maxBytes)
        throw new InkcastError('unavailable', 'too many requests are in progress; try again')
      requests++
      bytes += size
      return new Permit({
        free (answer) {
          requests--
          bytes -= size
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

/**
 * The permit of one request. It ends when all its holders have released it: the response, and the operation, which
 * continues when its caller has disconnected.
 */
export class Permit {
  #holders = 1
  #answer = 0
  #limit

  /**
   * @param {object} limit
   * @param {(answer: number) => void} limit.free
   * @param {(more: number) => void} limit.answer throws
   */
  constructor (limit) {
    this.#limit = limit
  }

  hold () { this.#holders++ }

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

  release () { if (--this.#holders === 0) this.#limit.free(this.#answer) }
}
