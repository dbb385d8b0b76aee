import { Backoff } from '../../base/common/backoff.js'

/** Failures one after the other that open the circuit. */
const FAILURES = 10
/** For how long nothing is asked then, ms. One question costs little, and everyone waits for its answer. */
const PAUSE = { min: 1000, max: 5000 }

/**
 * Asks nothing of an application that fails, so that clients learn at once that they have to retry, and the application
 * has time to recover. After a pause one question tries again.
 */
export class Circuit {
  /** @type {'closed' | 'open' | 'trying'} */
  #state = 'closed'
  #failures = 0
  #openUntil = -Infinity
  #backoff
  #clock

  /**
   * @param {object} dependencies
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
   */
  constructor ({ clock, random }) {
    this.#clock = clock
    this.#backoff = new Backoff({ ...PAUSE, random })
  }

  /** @returns {boolean} whether a question may be asked now; in a closed circuit any number */
  admits () {
    if (this.#state === 'closed') return true
    if (this.#state === 'trying' || this.#clock.monotonic() < this.#openUntil) return false
    this.#state = 'trying'
    return true
  }

  /** A question had an answer. */
  succeeded () {
    this.#state = 'closed'
    this.#failures = 0
    this.#backoff.reset()
  }

  /** A question had none. @returns {boolean} whether the circuit is open now */
  failed () {
    if (++this.#failures < FAILURES) return false
    // those that were asked before it opened fail one after the other
    if (this.#state !== 'open') this.#openUntil = this.#clock.monotonic() + this.#backoff.next()
    this.#state = 'open'
    return true
  }

  /** A question was not asked after all. */
  released () { if (this.#state === 'trying') this.#state = 'open' }
}
