import { AwakeTime } from '../../base/common/awake-time.js'

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
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #patience
  #most
  #clock
  #time

  /**
   * @param {number} patience ms
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every'>} clock
   * @param {number} [most] above this number the oldest is destroyed
   */
  constructor (patience, clock, most = Infinity) {
    this.#patience = patience
    this.#clock = clock
    this.#most = most
    this.#time = new AwakeTime(clock, 2 * LOOK_EVERY)
  }

  get size () { return this.#since.size }

  /** @param {Waiting} socket whose time begins, or begins again */
  add (socket) {
    this.#since.delete(socket)
    this.#since.set(socket, this.#time.now())
    if (this.#since.size > this.#most) this.#endOldest()
    this.#timer ??= this.#clock.every(LOOK_EVERY, () => this.#look()).unref()
  }

  /** @param {Waiting} socket @returns {boolean} whether it had a deadline */
  delete (socket) { return this.#since.delete(socket) }

  #endOldest () {
    const [oldest] = this.#since.keys()
    this.#since.delete(oldest)
    oldest.destroy()
  }

  /** Destroys connections whose deadline has passed. */
  #look () {
    const now = this.#time.now()
    for (const [socket, since] of this.#since) {
      if (now - since < this.#patience) break
      this.#since.delete(socket)
      socket.destroy()
    }
    if (this.#since.size > 0) return
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** Destroys all connections. */
  end () {
    for (const socket of this.#since.keys()) socket.destroy()
    this.#since.clear()
    this.#look()
  }
}
