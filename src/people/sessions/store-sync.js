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
  }

  /** Number of holdings with a pending write or event. */
  get size () { return this.#queue.length + this.#untold.length + this.#telling }

  /** @param {Holding} holding with a changed state */
  enqueue (holding) {
    if (holding.has(QUEUED | BUSY)) return
    holding.flags |= QUEUED
    this.#queue.push(holding)
  }

  /**
   * Writes the changes before this call to the store.
   * @param {() => Promise<void>} first write that must precede the holdings
   */
  async run (first) {
    this.#tellMore()
    const queued = this.#queue
    this.#queue = []
    const changed = this.#stillPending(queued)
    try {
      await first()
      while (changed.length > 0) await this.#bring(this.#stillPending(changed.splice(0, BATCH)))
    } finally {
      // the remaining ones; failed ones are in the queue already
      if (changed.length > 0) this.#queue = [...changed, ...this.#queue]
    }
    this.#tellMore()
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

  /** @param {Holding[]} batch */
  async #bring (batch) {
    const { store, incarnation } = this.#parts
    const of = incarnation()
    const changes = batch.map((holding) => holding.change())
    const asked = batch.map((holding) => {
      const { flags } = holding
      holding.flags = (flags & ~(ASKED | QUEUED)) | BUSY
      return flags & ASKED
    })
    /** @type {import('./contract.js').Told[]} */
    let answers
    try {
      answers = await store.hold(of, changes)
    } catch (error) {
      batch.forEach((holding, i) => {
        holding.flags |= asked[i] | UNSURE
        this.#settle(holding)
      })
      throw error
    }
    batch.forEach((holding, i) => {
      const { op } = changes[i]
      if (of !== incarnation()) {
        holding.flags |= UNSURE
        return this.#settle(holding)
      }
      if (op === '+') holding.flags |= HELD
      if (op === '-') holding.flags &= ~HELD
      if (answers[i] === '') this.#settle(holding)
      else this.#untold.push({ holding, told: /** @type {'0' | '1'} */ (answers[i]), of })
    })
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
