import { AwakeTime } from '../../base/common/awake-time.js'

/**
 * Sessions that upgrade: their clients poll, and have opened a WebSocket. One timer serves all. There are at most as
 * many as sessions.
 *
 * @typedef {object} Upgrading a session
 * @property {() => unknown} endPoll ends its open poll, if there is one
 * @property {() => void} endUpgrade closes its WebSocket
 */

/** Interval between two looks, ms. */
const LOOK_EVERY = 50
/** Timeout for the upgrade, ms; the same as in Engine.IO. */
const PATIENCE = 10_000
/**
 * Time after the answer to a probe until an open poll ends, ms. The client polls again if the poll ends before it has
 * read that answer.
 */
const NOOP_AFTER = 50

export class Upgrades {
  /**
   * Start times, oldest first.
   * @type {Map<Upgrading, { since: number, probed: number }>}
   */
  #open = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #clock
  #time

  /** @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every'>} clock */
  constructor (clock) {
    this.#clock = clock
    this.#time = new AwakeTime(clock, 2 * LOOK_EVERY)
  }

  get size () { return this.#open.size }

  /** @param {Upgrading} session */
  add (session) {
    this.#open.set(session, { since: this.#time.now(), probed: Infinity })
    this.#timer ??= this.#clock.every(LOOK_EVERY, () => this.#look()).unref()
  }

  /** Its client has probed the WebSocket. @param {Upgrading} session */
  probed (session) {
    const one = this.#open.get(session)
    if (one !== undefined) one.probed = this.#time.now()
  }

  /** @param {Upgrading} session */
  delete (session) { this.#open.delete(session) }

  #look () {
    const now = this.#time.now()
    for (const [session, { since, probed }] of this.#open) {
      if (now - since >= PATIENCE) session.endUpgrade()
      else if (now - probed >= NOOP_AFTER) session.endPoll()
    }
    if (this.#open.size > 0) return
    this.#timer?.stop()
    this.#timer = undefined
  }
}
