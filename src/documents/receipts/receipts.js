import { happened, receiptOpened } from '../../observe/metrics/points.js'
import { TICK, TimingWheel } from '../../transport/heartbeat/wheel.js'
import { ACK_IDS, FIRST_ACK_ID, Receipt } from './receipt.js'
import { Reports } from './reports.js'
import { Sample } from './sample.js'

/**
 * A record reaches all workers within this time, so no worker reports earlier, ms; RECEIPT_TIMEOUT is not shorter.
 * Exported for tests: a time.
 */
export const SETTLE = 1000
/** Delay after its own deadline until a worker closes a receipt without the others, ms. Exported for tests: a time. */
export const GRACE = 2000
/** Receipts closed in one turn of the event loop. */
const BATCH = 1000
/** Timeout for summaries in progress when the worker stops, ms. */
const STOP_TIMEOUT = 5000

/**
 * The receipts of one worker: clients are asked to acknowledge a record with `x-receipt`. After all acknowledgements,
 * or the timeout, one summary goes to the uplink, combined with the parts of other workers that the record reached.
 * docs/internals/decisions/0032-receipts.md
 */
export class Receipts {
  /** @type {'new' | 'running' | 'stopped'} */
  #state = 'new'
  /** Receipts to acknowledge, by ack id. @type {Map<number, Receipt>} bounded by maxPendingReceipts */
  #asking = new Map()
  /** Receipts without an ack id. @type {Set<Receipt>} same bound */
  #unasked = new Set()
  /** Reports and summaries in progress. @type {Set<Promise<unknown>>} same bound */
  #handingOver = new Set()
  /** Weight of all open receipts. */
  #pending = 0
  /** Of the last ack id. */
  #sequence
  /** Undefined: only publishers ask for receipts. */
  #sample
  /** @type {TimingWheel<Receipt>} */
  #wheel
  /**
   * Runs while there are receipts: a worker at rest is not woken.
   * @type {import('../../base/common/clock.js').Timer | undefined}
   */
  #timer
  #tally = { acknowledged: 0, missing: 0, unasked: 0, stray: 0, unreported: 0 }

  /**
   * @param {import('./reports.js').ReportDependencies & {
   *   settings: { receiptTimeout: number, receiptSample: number, maxPendingReceipts: number },
   *   metrics: import('../../observe/metrics/metrics.js').Metrics
   * }} dependencies
   */
  constructor (dependencies) {
    const { settings, metrics, random } = dependencies
    this.settings = settings
    this.shared = dependencies.parts !== undefined
    this.reports = new Reports(dependencies)
    this.metrics = metrics
    this.log = dependencies.log
    this.clock = dependencies.clock
    const { receiptSample: share, maxPendingReceipts } = settings
    this.#sample = share > 0
      ? new Sample({ share, most: maxPendingReceipts / 2, metrics, clock: this.clock })
      : undefined
    this.#wheel = new TimingWheel(settings.receiptTimeout + GRACE, this.#now())
    // Random, so that late acknowledgements to the worker before a restart match no new receipt.
    this.#sequence = Math.floor(random.number() * ACK_IDS)
    metrics.onCollect(() => {
      const tally = this.#tally
      for (const result of /** @type {(keyof typeof tally)[]} */ (Object.keys(tally))) {
        metrics.receipts.inc({ result }, tally[result])
        tally[result] = 0
      }
      metrics.receipts_pending.set(this.#pending)
    })
  }

  /** Weight of all open receipts. */
  get pending () { return this.#pending }

  start () { this.#state = 'running' }

  /** Sends the summaries of all open receipts with the acknowledgements received so far. */
  async stop () {
    this.#state = 'stopped'
    for (const receipt of [...this.#asking.values(), ...this.#unasked]) this.#finish(receipt)
    this.#halt()
    const ended = new AbortController()
    await Promise.race([Promise.all(this.#handingOver), this.clock.sleep(STOP_TIMEOUT, ended.signal).catch(() => {})])
    ended.abort()
    this.reports.stop()
  }

  /**
   * @param {import('../../wire/publication.js').Publication} publication about to be delivered
   * @param {string} [receiptId] id among workers
   * @returns {Receipt | null} null: no receipt
   */
  open (publication, receiptId) {
    if (!publication.receipt) return this.#sample === undefined ? null : this.#openSampled(this.#sample, publication)
    const { maxPendingReceipts } = this.settings
    if (this.#pending >= 2 * maxPendingReceipts) {
      this.#tally.unreported++
      return null
    }
    const ackId = this.#pending >= maxPendingReceipts ? undefined : this.#nextAckId()
    const sharedId = this.shared && publication.operator !== 'socket' ? receiptId : undefined
    const receipt = new Receipt(ackId, publication, sharedId, this.#now(), this.#onMember)
    if (receiptOpened.hasSubscribers) receiptOpened.publish({ by: this.metrics, receipt, publication })
    return receipt
  }

  /** @param {Sample} sample @param {import('../../wire/publication.js').Publication} publication */
  #openSampled (sample, publication) {
    if (!sample.has(publication)) return null
    if (sample.hasRoom && this.#pending < this.settings.maxPendingReceipts)
      return new Receipt(this.#nextAckId(), publication, undefined, this.#now(), this.#onMember, true)
    sample.leaveOut()
    return null
  }

  /**
   * @param {import('../../observe/metrics/points.js').Client & { receiver: import('./receipt.js').Receiver | null }}
   *   connection
   * @param {number} ackId any that a client sends
   * @returns {boolean} whether it was requested, in time, and the first one
   */
  acknowledge (connection, ackId) {
    // The id of one of Socket.IO's own acknowledgements, or NaN.
    if (!(ackId >= FIRST_ACK_ID)) return false
    const receipt = this.#asking.get(ackId)
    const at = this.#now()
    if (receipt === undefined || !receipt.acknowledge(connection.receiver, at)) {
      this.#tally.stray++
      return false
    }
    const ms = at - receipt.at
    if (receipt.sampled) this.#sample?.acknowledged(receipt.sampled, ms)
    if (happened.hasSubscribers) {
      const { guid, traceId, event } = receipt
      happened.publish({ by: this.metrics, connection, hop: 'acknowledged', event: { guid, traceId, event, ms } })
    }
    if (receipt.complete) {
      if (receipt.sharedId === undefined || at >= receipt.at + SETTLE) this.#finish(receipt)
      else this.#plan(receipt, receipt.at + SETTLE)
    }
    return true
  }

  /** Closes receipts that are due. */
  tick () {
    const time = this.#now()
    this.#wheel.advance(time)
    for (let i = 0; i < BATCH; i++) {
      const receipt = this.#wheel.take()
      if (receipt === undefined) {
        if (this.#wheel.size === 0) this.#halt()
        return
      }
      if (receipt.dueAt > time) this.#plan(receipt, receipt.dueAt)
      else if (receipt.reported) this.#close(receipt)
      else this.#finish(receipt)
    }
    this.clock.soon(() => this.tick())
  }

  #halt () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** Whole ms: a number of 1e12 takes as much memory as three small ones. */
  #now () { return Math.trunc(this.clock.monotonic()) }

  /** @param {Receipt} receipt @param {number} weight */
  #weigh (receipt, weight) {
    this.#pending += weight - receipt.weight
    if (receipt.sampled) this.#sample?.weigh(weight - receipt.weight)
    receipt.weight = weight
  }

  #nextAckId () {
    do this.#sequence = (this.#sequence + 1) % ACK_IDS
    while (this.#asking.has(FIRST_ACK_ID + this.#sequence))
    return FIRST_ACK_ID + this.#sequence
  }

  #onMember = (/** @type {Receipt} */ receipt) => {
    if (receipt.weight === 0) this.#begin(receipt)
    else if (receipt.ackId !== undefined) this.#weigh(receipt, receipt.weight + 1)
  }

  /** @param {Receipt} receipt @param {number} at ms */
  #plan (receipt, at) {
    receipt.dueAt = at
    this.#wheel.put(receipt, at)
    if (this.#timer === undefined && this.#state === 'running')
      this.#timer = this.clock.every(TICK, () => this.tick()).unref()
  }

  /** @param {Receipt} receipt before its first member is added */
  #begin (receipt) {
    this.#weigh(receipt, 1)
    if (receipt.ackId === undefined) {
      this.#unasked.add(receipt)
      this.#plan(receipt, receipt.sharedId === undefined ? receipt.at : receipt.at + SETTLE)
    } else {
      this.#asking.set(receipt.ackId, receipt)
      this.#plan(receipt, receipt.at + this.settings.receiptTimeout)
    }
    if (receipt.sampled) this.#sample?.begin(receipt)
    else this.reports.announceSoon(receipt)
  }

  /** Called after all acknowledgements, or at the timeout. @param {Receipt} receipt */
  #finish (receipt) {
    this.#wheel.remove(receipt)
    if (receipt.ackId === undefined) this.#unasked.delete(receipt)
    else this.#asking.delete(receipt.ackId)
    if (receipt.sampled) {
      this.#sample?.finish(receipt)
      return this.#weigh(receipt, 0)
    }
    this.#tally.acknowledged += receipt.acknowledged
    this.#tally.missing += receipt.asked - receipt.acknowledged
    this.#tally.unasked += receipt.unasked
    receipt.stage?.end({ asked: receipt.asked, acknowledged: receipt.acknowledged })
    const finished = this.reports.finish(receipt)
    this.#handOver(receipt, receipt.sharedId === undefined ? finished : finished.then((othersReport) => {
      if (!othersReport || this.#state === 'stopped') return
      this.#weigh(receipt, 1)
      receipt.reported = true
      this.#plan(receipt, receipt.at + this.settings.receiptTimeout + GRACE)
    }))
  }

  /** @param {Receipt} receipt reported here */
  #close (receipt) {
    receipt.reported = false
    this.#handOver(receipt, this.reports.close(receipt))
  }

  /** @param {Receipt} receipt @param {Promise<unknown>} step */
  #handOver (receipt, step) {
    const { delivered } = receipt
    const done = step
      .catch((error) => {
        this.#tally.unreported += delivered
        this.log.debug({ err: error, traceId: receipt.traceId }, 'a receipt is lost')
      })
      .finally(() => {
        this.#handingOver.delete(done)
        this.reports.settled(receipt)
        if (!receipt.reported) this.#weigh(receipt, 0)
      })
    this.#handingOver.add(done)
  }
}
