import { Backlog } from './backlog.js'

/**
 * What waits for all connections of a worker, and how much may. Frames are shared, but each connection that waits for
 * one counts it, so the sum is never less than the memory that it takes.
 *
 * @typedef {import('./backlog.js').SlowConnection & Closable} Connection
 * @typedef {{ open: boolean, backlog: Backlog | null, giveUp: () => void }} Closable
 */

/** How often it is looked at what still waits, ms; only while something does. */
const LOOK_EVERY = 100
/**
 * A client gets ephemeral records, and what it missed from the log, while less than this waits for it, bytes; the bound
 * for all connections does not matter to it.
 */
const LOW = 2 ** 16
/** Twice as much as may wait is no reason to drop what has no log, but to close. */
const CLOSE_FROM = 2

export class Backlogs {
  /** @type {Map<Connection, Backlog>} */
  #all = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #bytes = 0
  #records = 0
  #settings
  #metrics
  #clock

  /**
   * @param {object} settings
   * @param {number} settings.maxWaitingBytes per connection
   * @param {number} settings.maxWaitingRecords
   * @param {number} settings.maxWaitingBytesTotal of all connections of this worker
   * @param {number} settings.maxWaitingRecordsTotal
   * @param {number} settings.maxRecordBytes whatever may wait, one of the largest and what is for the connection itself
   *   may
   * @param {number} settings.slowTimeout how long a connection may be behind, or take nothing, ms
   * @param {import('../metrics/metrics.js').Metrics} metrics
   * @param {import('../common/clock.js').Clock} clock
   */
  constructor (settings, metrics, clock) {
    this.#settings = settings
    this.#metrics = metrics
    this.#clock = clock
    this.maxBytes = settings.maxWaitingBytes
    this.maxRecords = settings.maxWaitingRecords
    this.low = Math.min(LOW, settings.maxWaitingBytes)
    this.closeFromBytes = CLOSE_FROM * Math.max(settings.maxWaitingBytes, settings.maxRecordBytes)
    this.closeFromRecords = CLOSE_FROM * settings.maxWaitingRecords
    metrics.onCollect(() => this.#collect())
  }

  /** More waits for all together than may. */
  get overfull () {
    return this.#bytes >= this.#settings.maxWaitingBytesTotal || this.#records >= this.#settings.maxWaitingRecordsTotal
  }

  /** @param {Connection} connection for which something has to wait */
  open (connection) {
    const backlog = new Backlog(connection, this)
    this.#all.set(connection, backlog)
    // what is in its socket already
    this.#bytes += backlog.bytes
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY).unref()
    return backlog
  }

  /** A packet more waits. @param {number} bytes */
  added (bytes) {
    this.#bytes += bytes
    this.#records++
  }

  /** An ephemeral record was dropped, or gave way to a newer one. */
  dropped () {
    this.#metrics.dropped_ephemerals.inc()
  }

  /** @param {Connection} connection that takes too little */
  giveUp (connection) {
    this.#metrics.slow_connections.inc()
    connection.giveUp()
  }

  /**
   * Counts anew what waits, forgets where nothing does, and closes what has been behind, or has taken nothing, for too
   * long.
   */
  look () {
    this.#bytes = this.#records = 0
    const now = this.#clock.monotonic()
    for (const [connection, backlog] of this.#all) {
      if (!backlog.done && connection.open && this.#isTooSlow(backlog, now)) this.giveUp(connection)
      if (backlog.done) {
        this.#all.delete(connection)
        connection.backlog = null
      } else {
        this.#bytes += backlog.bytes
        this.#records += backlog.records
      }
    }
    if (this.#all.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** @param {Backlog} backlog @param {number} now ms */
  #isTooSlow (backlog, now) {
    const { slowTimeout } = this.#settings
    return backlog.stalledFor(now) >= slowTimeout || (backlog.behind > 0 && now - backlog.behindSince >= slowTimeout)
  }

  #collect () {
    this.look()
    this.#metrics.waiting_bytes.set(this.#bytes)
    this.#metrics.waiting_records.set(this.#records)
    this.#metrics.connections_behind.set([...this.#all.values()].filter(({ behind }) => behind > 0).length)
  }
}
