import { Backoff } from '../../base/common/backoff.js'
import { eventOf } from './life-cycle-events.js'
import { BUSY, HELD, QUEUED, TOLD_FREE, TOLD_HELD, UNSURE, WANTED } from './holding.js'

/**
 * Writes the holdings of a worker to the store, and sends the events that the store requests to the business services.
 * Both follow the state, not each change: a holding is in one queue at a time, so the queues are bounded by the number
 * of holdings during an outage of the store or of the services, and afterwards the net change is written.
 *
 * @typedef {import('./holding.js').Holding} Holding
 */

/** Maximum number of holdings per write. */
const BATCH = 1000
/** Maximum number of events in progress at the uplink, which clients' messages use as well. */
const MAX_TELLING = 1000
/** Flags that a write clears, and that a failed write sets again. */
const ASKED = UNSURE | TOLD_HELD | TOLD_FREE

export class StoreSync {
  /** Holdings to write, each once. @type {Holding[]} */
  #queue = []
  /** Holdings whose write failed, to write again behind those of the queue, after a pause. @type {Holding[]} */
  #failed = []
  #retryAt = 0
  #retries
  /** Events to send, one per holding. @type {{ holding: Holding, told: '0' | '1', of: string }[]} */
  #untold = []
  /** Events in progress at the uplink. */
  #telling = 0
  /** After a failure of the uplink. */
  #resumeAt = 0
  #backoff
  #parts

  /**
   * @param {object} parts
   * @param {import('./contract.js').SessionStore} parts.store
   * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} parts.uplink
   * @param {() => string} parts.incarnation
   * @param {(holding: Holding) => number} parts.timeOf its last begin or end, ms since 1970
   * @param {(holding: Holding) => void} parts.onSettled the store and the services are up to date with it
   * @param {import('../../base/common/log.js').Log} parts.log
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {import('../../base/common/random.js').Random} parts.random
   */
  constructor (parts) {
    this.#parts = parts
    this.#backoff = new Backoff({ min: 100, random: parts.random })
    this.#retries = new Backoff({ min: 100, random: parts.random })
  }

  /** Number of holdings with a pending write or event. */
  get size () { return this.#queue.length + this.#failed.length + this.#untold.length + this.#telling }

  /** @param {Holding} holding with a changed state */
  enqueue (holding) {
    if (holding.has(QUEUED | BUSY)) return
    holding.flags |= QUEUED
    this.#queue.push(holding)
  }

  /** The store may be available again. */
  hurry () { this.#retryAt = 0 }

  /**
   * Writes the changes before this call to the store. A change that fails never holds back others: a node of Redis
   * Cluster may be down for longer.
   * @param {() => Promise<void>} first write that must precede the holdings
   * @returns {Promise<Error | undefined>} the first error of a holding, which is written again later
   * @throws the error of `first`
   */
  async run (first) {
    this.#tellMore()
    const queued = this.#queue
    this.#queue = []
    const changed = this.#stillPending(queued)
    const now = this.#parts.clock.monotonic()
    const again = now < this.#retryAt ? [] : this.#failed.splice(0)
    /** @type {Error | undefined} */
    let failure
    try {
      await first()
      while (changed.length > 0) failure = await this.#bring(changed.splice(0, BATCH)) ?? failure
      // one batch at a time while they fail: each may wait for its node
      let error
      while (again.length > 0 && error === undefined) error = await this.#bring(again.splice(0, BATCH))
      failure ??= error
    } finally {
      if (changed.length > 0) this.#queue = [...changed, ...this.#queue]
      if (again.length > 0) this.#failed = [...again, ...this.#failed]
    }
    if (this.#failed.length === 0) this.#retries.reset()
    else if (now >= this.#retryAt) this.#retryAt = this.#parts.clock.monotonic() + this.#retries.next()
    this.#tellMore()
    return failure
  }

  /**
   * Writes a holding again: the store may have lost it, or has it under another incarnation.
   * @param {Holding} holding
   * @param {boolean} told whether it counts as reported to the services
   */
  repeat (holding, told) {
    if (!holding.has(WANTED | HELD)) return
    if (told && !holding.has(BUSY | TOLD_HELD | TOLD_FREE) && holding.has(HELD)) holding.flags |= TOLD_HELD
    holding.flags |= UNSURE
    this.enqueue(holding)
  }

  /** @param {Holding[]} some @returns {Promise<Error | undefined>} the first error */
  async #bring (some) {
    const batch = this.#stillPending(some)
    if (batch.length === 0) return undefined
    const { store, incarnation } = this.#parts
    const of = incarnation()
    const changes = batch.map((holding) => holding.change())
    const asked = batch.map((holding) => {
      const { flags } = holding
      holding.flags = (flags & ~(ASKED | QUEUED)) | BUSY
      return flags & ASKED
    })
    const answers = await store.hold(of, changes).catch((/** @type {Error} */ error) => batch.map(() => error))
    batch.forEach((holding, i) => {
      const { op } = changes[i]
      const answer = answers[i]
      if (of !== incarnation()) {
        holding.flags |= UNSURE
        return this.#settle(holding)
      }
      if (answer instanceof Error) {
        holding.flags = (holding.flags & ~BUSY) | asked[i] | UNSURE | QUEUED
        return this.#failed.push(holding)
      }
      if (op === '+') holding.flags |= HELD
      if (op === '-') holding.flags &= ~HELD
      if (answer === '') this.#settle(holding)
      else this.#untold.push({ holding, told: answer, of })
    })
    return errorIn(answers)
  }

  /** @param {Holding[]} list @returns {Holding[]} without holdings that began and ended before the write */
  #stillPending (list) {
    return list.filter((holding) => {
      if (holding.pending) return true
      holding.flags &= ~QUEUED
      this.#parts.onSettled(holding)
      return false
    })
  }

  /** @param {Holding} holding */
  #settle (holding) {
    holding.flags &= ~BUSY
    if (holding.pending) this.enqueue(holding)
    else this.#parts.onSettled(holding)
  }

  #tellMore () {
    if (this.#untold.length === 0 || this.#parts.clock.monotonic() < this.#resumeAt) return
    for (const next of this.#untold.splice(0, MAX_TELLING - this.#telling)) this.#tell(next)
  }

  /** @param {{ holding: Holding, told: '0' | '1', of: string }} event */
  #tell (event) {
    const { uplink, timeOf, log, clock, random } = this.#parts
    const { uid, guid, sid, origin, reason } = event.holding
    const happening = { uid, guid, ...uid === undefined ? {} : { sid, ...origin }, at: timeOf(event.holding), reason }
    const record = eventOf(event.told, happening, random)
    if (record === null) return this.#told(event)
    this.#telling++
    uplink.send(record).then(() => {
      this.#telling--
      this.#backoff.reset()
      this.#told(event)
      this.#tellMore()
    }, (error) => {
      this.#telling--
      if (clock.monotonic() >= this.#resumeAt) {
        log.warn({ err: error }, 'life-cycle events could not be sent to the uplink, retrying')
        this.#resumeAt = clock.monotonic() + this.#backoff.next()
      }
      this.#untold.push(event)
    })
  }

  /** @param {{ holding: Holding, told: '0' | '1', of: string }} event that was sent */
  #told ({ holding, told, of }) {
    // the current incarnation has not reported anything yet
    if (of !== this.#parts.incarnation()) holding.flags |= UNSURE
    else holding.flags |= told === '1' ? TOLD_HELD : TOLD_FREE
    this.#settle(holding)
  }
}

/** @param {(import('./contract.js').Told | Error)[]} answers @returns {Error | undefined} the first one */
export const errorIn = (answers) =>
  /** @type {Error | undefined} */ (answers.find((answer) => answer instanceof Error))
