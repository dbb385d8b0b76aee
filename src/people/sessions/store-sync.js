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

/**
 * @param {object} dependencies
 * @param {import('./contract.js').SessionStore} dependencies.store
 * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {() => string} dependencies.incarnation
 * @param {(holding: Holding) => number} dependencies.timeOf its last begin or end, ms since 1970
 * @param {(holding: Holding) => void} dependencies.onSettled the store and the services are up to date with it
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createStoreSync ({ store, uplink, incarnation, timeOf, onSettled, log, clock, random }) {
  /** @type {Holding[]} each once */
  let queue = []
  /** Events to send, one per holding. @type {{ holding: Holding, told: '0' | '1', of: string }[]} */
  const untold = []
  let telling = 0
  const backoff = new Backoff({ min: 100, random })
  let resumeAt = 0

  /** @param {Holding} holding with a changed state */
  function enqueue (holding) {
    if (holding.has(QUEUED | BUSY)) return
    holding.flags |= QUEUED
    queue.push(holding)
  }

  /** @param {Holding} holding */
  function settle (holding) {
    holding.flags &= ~BUSY
    if (holding.pending) enqueue(holding)
    else onSettled(holding)
  }

  /** @param {typeof untold[number]} tell */
  function tell ({ holding, told, of }) {
    const done = () => {
      // the current incarnation has not reported anything yet
      if (of === incarnation()) holding.flags |= told === '1' ? TOLD_HELD : TOLD_FREE
      else holding.flags |= UNSURE
      settle(holding)
    }
    const { uid, guid, sid, reason } = holding
    const happening = { uid, guid, ...uid === undefined ? {} : { sid }, at: timeOf(holding), reason }
    const record = eventOf(told, happening, random)
    if (record === null) return done()
    telling++
    uplink.send(record).then(() => {
      telling--
      backoff.reset()
      done()
      tellMore()
    }, (error) => {
      telling--
      if (clock.monotonic() >= resumeAt) {
        log.warn({ err: error }, 'life-cycle events could not be sent to the uplink, retrying')
        resumeAt = clock.monotonic() + backoff.next()
      }
      untold.push({ holding, told, of })
    })
  }

  function tellMore () {
    if (untold.length === 0 || clock.monotonic() < resumeAt) return
    for (const next of untold.splice(0, MAX_TELLING - telling)) tell(next)
  }

  /** @param {Holding[]} list @returns {Holding[]} without holdings that began and ended before the write */
  const stillPending = (list) => list.filter((holding) => {
    if (holding.pending) return true
    holding.flags &= ~QUEUED
    onSettled(holding)
    return false
  })

  /** @param {Holding[]} batch */
  async function bring (batch) {
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
        settle(holding)
      })
      throw error
    }
    batch.forEach((holding, i) => {
      const { op } = changes[i]
      if (of !== incarnation()) {
        holding.flags |= UNSURE
        return settle(holding)
      }
      if (op === '+') holding.flags |= HELD
      if (op === '-') holding.flags &= ~HELD
      if (answers[i] === '') settle(holding)
      else untold.push({ holding, told: /** @type {'0' | '1'} */ (answers[i]), of })
    })
  }

  return {
    enqueue,

    /**
     * Writes the changes before this call to the store.
     * @param {() => Promise<void>} first write that must precede the holdings
     */
    async run (first) {
      tellMore()
      const queued = queue
      queue = []
      const changed = stillPending(queued)
      try {
        await first()
        while (changed.length > 0) await bring(stillPending(changed.splice(0, BATCH)))
      } finally {
        // the remaining ones; failed ones are in the queue already
        if (changed.length > 0) queue = [...changed, ...queue]
      }
      tellMore()
    },

    /**
     * Writes a holding again: the store may have lost it, or has it under another incarnation.
     * @param {Holding} holding
     * @param {boolean} told whether it counts as reported to the services
     */
    repeat (holding, told) {
      if (!holding.has(WANTED | HELD)) return
      if (told && !holding.has(BUSY | TOLD_HELD | TOLD_FREE) && holding.has(HELD)) holding.flags |= TOLD_HELD
      holding.flags |= UNSURE
      enqueue(holding)
    },

    /** Number of holdings with a pending write or event. */
    get size () { return queue.length + untold.length + telling }
  }
}
