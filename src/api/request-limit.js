import { InkcastError } from '../common/errors.js'

/**
 * Limits the requests in progress and the bytes of their bodies, so that memory stays bounded when the bus or Kafka is
 * slow. Above the limit callers are refused and may retry.
 *
 * @param {{ maxRequests: number, maxBytes: number }} bounds
 */
export function createRequestLimit ({ maxRequests, maxBytes }) {
  let requests = 0
  let bytes = 0

  return {
    get requests () { return requests },

    /**
     * @param {number} size maximum bytes of the request's body
     * @returns {Permit}
     * @throws {InkcastError} unavailable
     */
    enter (size) {
      if (requests >= maxRequests || bytes + size > maxBytes)
        throw new InkcastError('unavailable', 'too many requests are in progress; try again')
      requests++
      bytes += size
      return new Permit(() => {
        requests--
        bytes -= size
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
  #free

  /** @param {() => void} free */
  constructor (free) {
    this.#free = free
  }

  hold () { this.#holders++ }

  release () { if (--this.#holders === 0) this.#free() }
}
