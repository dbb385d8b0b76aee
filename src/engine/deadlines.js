import { systemClock } from '../common/clock.js'

/**
 * Deadlines of connections, which are destroyed when theirs has passed. One timer serves all: a timer for each would
 * cost more than the wait itself. The number of connections is bounded by the descriptors of the process, or by `most`.
 *
 * @typedef {{ destroy: () => unknown }} Waiting a connection, or a response that destroys its connection
 */

/** Interval between two checks, ms. */
const LOOK_EVERY = 1000

export class Deadlines {
  /** Start times, oldest first. @type {Map<Waiting, number>} */
  #since = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #patience
  #most

  /**
   * @param {number} patience ms
   * @param {number} [most] above this number the oldest is destroyed
   */
  constructor (patience, most = Infinity) {
    this.#patience = patience
    this.#most = most
  }

  get size () { return this.#since.size }

  /** @param {Waiting} socket */
  add (socket) {
    this.#since.set(socket, systemClock.monotonic())
    if (this.#since.size > this.#most) this.#endOldest()
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY).unref()
  }

  /** @param {Waiting} socket @returns {boolean} whether it had a deadline */
  delete (socket) { return this.#since.delete(socket) }

  #endOldest () {
    const [oldest] = this.#since.keys()
    this.#since.delete(oldest)
    oldest.destroy()
  }

  /** Destroys connections whose deadline has passed. @param {number} [now] ms */
  look (now = systemClock.monotonic()) {
    for (const [socket, since] of this.#since) {
      if (now - since < this.#patience) break
      this.#since.delete(socket)
      socket.destroy()
    }
    if (this.#since.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Destroys all connections. */
  end () {
    for (const socket of this.#since.keys()) socket.destroy()
    this.#since.clear()
    this.look()
  }
}
