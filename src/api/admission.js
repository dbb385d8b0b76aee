import { InkcastError } from '../common/errors.js'

/**
 * Bounds what is in work at one time, in requests and in bytes of their bodies: beyond, callers are asked to come
 * back, which keeps memory bounded when the bus or Kafka is slow.
 *
 * @param {{ maxRequests: number, maxBytes: number }} bounds
 */
export function createAdmission ({ maxRequests, maxBytes }) {
  let requests = 0
  let bytes = 0

  return {
    get requests () { return requests },

    /**
     * @param {number} size bytes that the request may come to hold
     * @returns {Slot}
     * @throws {InkcastError} unavailable
     */
    enter (size) {
      if (requests >= maxRequests || bytes + size > maxBytes)
        throw new InkcastError('unavailable', 'too many requests are in work; try again')
      requests++
      bytes += size
      return new Slot(() => {
        requests--
        bytes -= size
      })
    }
  }
}

/**
 * A place among the requests in work. It is free again when everyone who holds it has let go: the response is over,
 * and so is the operation, which goes on when its caller has hung up.
 */
export class Slot {
  #holders = 1
  #free

  /** @param {() => void} free */
  constructor (free) {
    this.#free = free
  }

  hold () { this.#holders++ }

  release () { if (--this.#holders === 0) this.#free() }
}
