import { InkcastError } from '../../base/common/errors.js'

/** Questions in progress, per worker. */
const MAX_OPEN = 50
/** Waiting questions, per worker, and their bytes: further ones are refused at once. */
const MAX_WAITING = 5000
const MAX_WAITING_BYTES = 16 * 2 ** 20

/**
 * @typedef {object} Waiting
 * @property {number} bytes
 * @property {() => boolean} isWanted
 * @property {() => void} begin
 * @property {(error: InkcastError) => void} refuse
 * @property {import('../../base/common/clock.js').Timer} timer
 */

/**
 * At most 50 questions at a time; the others wait in order for a limited time.
 */
export class Turns {
  #open = 0
  #bytes = 0
  /** In order. @type {Set<Waiting>} */
  #waiting = new Set()
  #maxWait
  #clock

  /** @param {{ clock: import('../../base/common/wait.js').Timers, maxWait: number }} dependencies maxWait: ms */
  constructor ({ clock, maxWait }) {
    this.#clock = clock
    this.#maxWait = maxWait
  }

  get open () { return this.#open }
  get waiting () { return this.#waiting.size }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @param {{ bytes: number, isWanted: () => boolean }} options isWanted: is anybody still there when its turn comes
   * @returns {Promise<T>} rejects with `unavailable` if it has no turn in time
   */
  async take (work, options) {
    if (this.#open >= MAX_OPEN) await this.#wait(options)
    else this.#open++
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  /** @param {{ bytes: number, isWanted: () => boolean }} options @returns {Promise<void>} */
  #wait ({ bytes, isWanted }) {
    if (this.#waiting.size >= MAX_WAITING || this.#bytes + bytes > MAX_WAITING_BYTES)
      throw new InkcastError('unavailable', 'too many clients log in at once')
    return new Promise((resolve, reject) => {
      const timer = this.#clock.timer(this.#maxWait, () =>
        this.#refuse(one, new InkcastError('unavailable', 'too many clients log in at once')))
      /** @type {Waiting} */
      const one = { bytes, isWanted, begin: resolve, refuse: reject, timer }
      this.#waiting.add(one)
      this.#bytes += bytes
    })
  }

  /** @param {Waiting} one */
  #forget (one) {
    one.timer.stop()
    this.#waiting.delete(one)
    this.#bytes -= one.bytes
  }

  /** @param {Waiting} one @param {InkcastError} error */
  #refuse (one, error) {
    this.#forget(one)
    one.refuse(error)
  }

  /** A question has ended: the next one takes its place. */
  #next () {
    for (const one of this.#waiting) {
      if (!one.isWanted()) {
        this.#refuse(one, new InkcastError('unavailable', 'the connection has gone'))
        continue
      }
      this.#forget(one)
      return one.begin()
    }
    this.#open--
  }

  /** @param {InkcastError} error for all that wait */
  refuseAll (error) { for (const one of this.#waiting) this.#refuse(one, error) }
}
