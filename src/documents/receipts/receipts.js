import { setMaxListeners } from 'node:events'
import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError, publicError } from '../../base/common/errors.js'
import { happened, receiptOpened } from '../../observe/metrics/points.js'
import { TICK, TimingWheel } from '../../transport/heartbeat/wheel.js'
import { ACK_IDS, FIRST_ACK_ID, Receipt } from './receipt.js'
import { receiptRecord } from './summary.js'

/**
 * The receipts of one worker: clients are asked to acknowledge a record with `x-receipt`. After all acknowledgements,
 * or the timeout, one summary goes to the uplink, combined with the parts of other workers that the record reached.
 * docs/decisions/0032-receipts.md
 *
 * @typedef {ReturnType<typeof createReceipts>} Receipts
 */

/**
 * A record reaches all workers within this time, so no worker reports earlier, ms; RECEIPT_TIMEOUT is not shorter.
 * Exported for tests: a time.
 */
export const SETTLE = 1000
/** Delay after its own deadline until a worker closes a receipt without the others, ms. Exported for tests: a time. */
export const GRACE = 2000
/** Time for retries with Redis and the uplink; after it a receipt is lost, ms. */
export const GIVE_UP = 60_000
/** Receipts closed in one turn of the event loop. */
const BATCH = 1000
/** Timeout for summaries in progress when the worker stops, ms. */
const STOP_TIMEOUT = 5000

/**
 * @param {object} dependencies
 * @param {{ receiptTimeout: number, maxPendingReceipts: number }}
 *   dependencies.settings
 * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {import('./redis-receipts.js').ReceiptParts} [dependencies.parts] default: this worker is alone
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
 * @param {() => number} [dependencies.now] monotonic, whole ms; small, because a number of 1e12 takes as much memory as
 *   three small ones
 */
export function createReceipts ({
  settings: { receiptTimeout, maxPendingReceipts },
  uplink, parts, metrics, log, clock,
  random,
  now = () => Math.trunc(clock.monotonic())
}) {
  /** Receipts to acknowledge, by ack id. @type {Map<number, Receipt>} bounded by maxPendingReceipts */
  const asking = new Map()
  /** Receipts without an ack id. @type {Set<Receipt>} same bound */
  const unasked = new Set()
  /** Reports and summaries in progress. @type {Set<Promise<void>>} same bound */
  const handingOver = new Set()
  /** @type {TimingWheel<Receipt>} */
  const wheel = new TimingWheel(receiptTimeout + GRACE, now())
  let started = false
  /**
   * Runs while there are receipts: a worker at rest is not woken.
   * @type {import('../../base/common/clock.js').Timer | undefined}
   */
  let timer
  const stopping = new AbortController()
  // each try that is repeated listens to it: as many as receipts in progress
  setMaxListeners(0, stopping.signal)
  /** Weight of all open receipts. */
  let pending = 0
  let stopped = false
  // Random, so that late acknowledgements to the worker before a restart match no new receipt.
  let sequence = Math.floor(random.number() * ACK_IDS)
  const tally = { acknowledged: 0, missing: 0, unasked: 0, stray: 0, unreported: 0 }

  metrics.onCollect(() => {
    for (const result of /** @type {(keyof typeof tally)[]} */ (Object.keys(tally))) {
      metrics.receipts.inc({ result }, tally[result])
      tally[result] = 0
    }
    metrics.receipts_pending.set(pending)
  })

  /** @param {Receipt} receipt @param {number} weight */
  function weigh (receipt, weight) {
    pending += weight - receipt.weight
    receipt.weight = weight
  }

  function nextAckId () {
    do sequence = (sequence + 1) % ACK_IDS
    while (asking.has(FIRST_ACK_ID + sequence))
    return FIRST_ACK_ID + sequence
  }

  /** @param {Receipt} receipt */
  function onMember (receipt) {
    if (receipt.weight === 0) begin(receipt)
    else if (receipt.ackId !== undefined) weigh(receipt, receipt.weight + 1)
  }

  /** @param {Receipt} receipt @param {number} at ms */
  function plan (receipt, at) {
    receipt.dueAt = at
    wheel.put(receipt, at)
    if (timer === undefined && started) timer = clock.every(TICK, tick).unref()
  }

  /** Closes receipts that are due. */
  function tick () {
    const time = now()
    wheel.advance(time)
    for (let i = 0; i < BATCH; i++) {
      const receipt = wheel.take()
      if (receipt === undefined) {
        if (wheel.size === 0) halt()
        return
      }
      if (receipt.dueAt > time) plan(receipt, receipt.dueAt)
      else if (receipt.reported) handOver(receipt, close)
      else finish(receipt)
    }
    clock.soon(tick)
  }

  function halt () {
    timer?.stop()
    timer = undefined
  }

  /** @param {Receipt} receipt before its first member is added */
  function begin (receipt) {
    weigh(receipt, 1)
    if (receipt.ackId === undefined) {
      unasked.add(receipt)
      plan(receipt, receipt.sharedId === undefined ? receipt.at : receipt.at + SETTLE)
    } else {
      asking.set(receipt.ackId, receipt)
      plan(receipt, receipt.at + receiptTimeout)
    }
    // After all members are added, which happens in this turn.
    if (parts !== undefined && nameOf(receipt) !== undefined) queueMicrotask(() => announce(receipt, parts))
  }

  /** @param {Receipt} receipt @returns {string | undefined} its id among what this worker leaves if it dies */
  const nameOf = ({ sharedId, ackId }) => sharedId ?? (ackId === undefined ? undefined : String(ackId))

  /** @param {Receipt} receipt @param {NonNullable<typeof parts>} to */
  async function announce (receipt, to) {
    try {
      const { about, delivered, unasked, sharedId } = receipt
      receipt.holder = to.holder()
      await to.announce(
        /** @type {string} */ (nameOf(receipt)),
        { about, delivered, unasked, shared: sharedId !== undefined },
        receipt.holder
      )
      receipt.announced = true
    } catch (error) {
      log.debug({ err: error }, 'a receipt could not be announced')
    }
  }

  /** Called after all acknowledgements, or at the timeout. @param {Receipt} receipt */
  function finish (receipt) {
    wheel.remove(receipt)
    if (receipt.ackId === undefined) unasked.delete(receipt)
    else asking.delete(receipt.ackId)
    tally.acknowledged += receipt.acknowledged
    tally.missing += receipt.asked - receipt.acknowledged
    tally.unasked += receipt.unasked
    receipt.stage?.end({ asked: receipt.asked, acknowledged: receipt.acknowledged })
    handOver(receipt, receipt.sharedId === undefined ? sendAlone : report)
  }

  /** @param {Receipt} receipt */
  const sendAlone = (receipt) => send(receipt, [receipt.part()])

  /** @param {Receipt} receipt */
  async function report (receipt) {
    const part = receipt.part()
    receipt.forgetMembers()
    const all = await insist(() =>
      /** @type {NonNullable<typeof parts>} */ (parts).report(
        /** @type {string} */ (receipt.sharedId),
        part,
        receipt.announced
      )
    )
    if (all.length > 0) return send(receipt, all)
    if (stopped) return
    weigh(receipt, 1)
    receipt.reported = true
    plan(receipt, receipt.at + receiptTimeout + GRACE)
  }

  /**
   * Ends a receipt although other workers have not reported: they are late, or have died.
   * @param {Receipt} receipt
   */
  async function close (receipt) {
    receipt.reported = false
    const all = await insist(() =>
      /** @type {NonNullable<typeof parts>} */ (parts).close(/** @type {string} */ (receipt.sharedId))
    )
    if (all.length > 0) await send(receipt, all)
  }

  /** @param {Receipt} receipt @param {(import('./summary.js').Part | number)[]} all */
  async function send ({ about }, all) {
    const record = receiptRecord(about, all, clock.now())
    await insist(() => uplink.send(record))
  }

  /** From now on nothing is lost if this worker dies. @param {Receipt} receipt */
  function settled (receipt) {
    if (receipt.holder === undefined) return
    parts?.settled(/** @type {string} */ (nameOf(receipt)), receipt.holder).catch((error) =>
      log.debug({ err: error }, 'a closed receipt could not be removed: it expires'))
    receipt.holder = undefined
  }

  /**
   * @template T
   * @param {() => Promise<T>} attempt
   * @returns {Promise<T>}
   */
  function insist (attempt) {
    const deadline = clock.monotonic() + GIVE_UP
    return retry(attempt, {
      signal: stopping.signal,
      clock,
      backoff: new Backoff({ min: 100, random }),
      retryable: (error) =>
        clock.monotonic() < deadline && !(error instanceof InkcastError && !publicError(error).retryable)
    })
  }

  /** @param {Receipt} receipt @param {(receipt: Receipt) => Promise<void>} step */
  function handOver (receipt, step) {
    const { delivered } = receipt
    const done = step(receipt)
      .catch((error) => {
        tally.unreported += delivered
        log.debug({ err: error, traceId: receipt.traceId }, 'a receipt is lost')
      })
      .finally(() => {
        handingOver.delete(done)
        settled(receipt)
        if (!receipt.reported) weigh(receipt, 0)
      })
    handingOver.add(done)
  }

  return {
    /** Weight of all open receipts. */
    get pending () {
      return pending
    },

    /**
     * @param {import('../../wire/publication.js').Publication} publication about to be delivered
     * @param {string} [receiptId] id among workers
     * @returns {Receipt | null} null: no receipt
     */
    open (publication, receiptId) {
      if (!publication.receipt) return null
      if (pending >= 2 * maxPendingReceipts) {
        tally.unreported++
        return null
      }
      const sharedId = parts === undefined || publication.operator === 'socket' ? undefined : receiptId
      const receipt = new Receipt(
        pending >= maxPendingReceipts ? undefined : nextAckId(),
        publication,
        sharedId,
        now(),
        onMember
      )
      if (receiptOpened.hasSubscribers) receiptOpened.publish({ by: metrics, receipt, publication })
      return receipt
    },

    /**
     * @param {import('../../observe/metrics/points.js').Client & { receiver: import('./receipt.js').Receiver | null }}
     *   connection
     * @param {number} ackId any that a client sends
     * @returns {boolean} whether it was requested, in time, and the first one
     */
    acknowledge (connection, ackId) {
      // The id of one of Socket.IO's own acknowledgements, or NaN.
      if (!(ackId >= FIRST_ACK_ID)) return false
      const receipt = asking.get(ackId)
      const at = now()
      if (receipt === undefined || !receipt.acknowledge(connection.receiver, at)) {
        tally.stray++
        return false
      }
      if (happened.hasSubscribers) {
        const { guid, traceId, event } = receipt
        const ms = at - receipt.at
        happened.publish({ by: metrics, connection, hop: 'acknowledged', event: { guid, traceId, event, ms } })
      }
      if (receipt.complete) {
        if (receipt.sharedId === undefined || at >= receipt.at + SETTLE) finish(receipt)
        else plan(receipt, receipt.at + SETTLE)
      }
      return true
    },

    start () { started = true },
    tick,

    /** Sends the summaries of all open receipts with the acknowledgements received so far. */
    async stop () {
      stopped = true
      started = false
      for (const receipt of [...asking.values(), ...unasked]) finish(receipt)
      halt()
      const ended = new AbortController()
      await Promise.race([Promise.all(handingOver), clock.sleep(STOP_TIMEOUT, ended.signal).catch(() => {})])
      ended.abort()
      stopping.abort(new InkcastError('unavailable'))
    }
  }
}
