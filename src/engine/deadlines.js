import { systemClock } from '../common/clock.js'

/**
 * Connections that have a time to do something, and are ended when they don't: one timer for all, because a timer for
 * each costs more than what it waits for. Their number is bounded by the descriptors of the process, or by less.
 *
 * @typedef {{ destroy: () => unknown }} Waiting a connection, or an answer that takes its connection with it
 */

/** How often they are looked at, ms. */
const LOOK_EVERY = 1000

export class Deadlines {
  /** Since when, in that order. @type {Map<Waiting, number>} */
  #since = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #patience
  #most

  /**
   * @param {number} patience ms
   * @param {number} [most] for one more the oldest is ended
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

  /** @param {Waiting} socket @returns {boolean} whether it was waited for */
  delete (socket) { return this.#since.delete(socket) }

  #endOldest () {
    const [oldest] = this.#since.keys()
    this.#since.delete(oldest)
    oldest.destroy()
  }

  /** Ends those whose time is over. @param {number} [now] ms */
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

  /** Ends all of them. */
  end () {
    for (const socket of this.#since.keys()) socket.destroy()
    this.#since.clear()
    this.look()
  }
}
