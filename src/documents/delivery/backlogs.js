import { Backlog } from './backlog.js'

/**
 * The backlogs of all connections of a worker, and their limits. Connections share frames, but each one that queues a
 * frame counts it, so the sum is never below the memory in use.
 *
 * @typedef {import('./backlog.js').SlowConnection & Closable} Connection
 * @typedef {{ open: boolean, backlog: Backlog | null, giveUp: () => void }} Closable
 */

/** Maximum time that a connection may be behind, or read nothing of its queue, ms. */
export const SLOW_TIMEOUT = 60_000
/** Interval of the checks, ms; they run only while there are backlogs. */
const LOOK_EVERY = 100
/**
 * A client receives ephemeral records and replays while its own backlog is below this, bytes; the limit for all
 * connections does not apply.
 */
const LOW = 2 ** 16
/** At this multiple of its limits a backlog consists of packets without a log: close the connection, drop nothing. */
const CLOSE_FROM = 2

export class Backlogs {
  /** @type {Map<Connection, Backlog>} */
  #all = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #bytes = 0
  #records = 0
  #settings
  #metrics
  #clock

  /**
   * @param {object} settings
   * @param {number} settings.maxWaitingBytes per connection
   * @param {number} settings.maxWaitingBytesTotal of all connections of this worker
   * @param {number} settings.maxRecordBytes room for one record of this size, and for packets of the connection itself,
   *   is always kept
   * @param {number} [settings.slowTimeout] ms; default: SLOW_TIMEOUT
   * @param {import('../../observe/metrics/metrics.js').Metrics} metrics
   * @param {import('../../base/common/clock.js').Clock} clock
   */
  constructor (settings, metrics, clock) {
    this.#settings = settings
    this.#metrics = metrics
    this.#clock = clock
    this.maxBytes = settings.maxWaitingBytes
    this.low = Math.min(LOW, settings.maxWaitingBytes)
    this.closeFromBytes = CLOSE_FROM * Math.max(settings.maxWaitingBytes, settings.maxRecordBytes)
    metrics.onCollect(() => this.#collect())
  }

  /** Whether all backlogs together have reached their limit. */
  get overfull () {
    return this.#bytes >= this.#settings.maxWaitingBytesTotal
  }

  /** @param {Connection} connection with something to queue */
  open (connection) {
    const backlog = new Backlog(connection, this)
    this.#all.set(connection, backlog)
    // bytes that are already in its socket
    this.#bytes += backlog.bytes
    this.#timer ??= this.#clock.every(LOOK_EVERY, () => this.look()).unref()
    return backlog
  }

  /**
   * Gives the backlog of a session to the connection that takes over the session, which has no documents yet.
   * @param {Connection} from
   * @param {Connection} to
   */
  move (from, to) {
    const { backlog } = from
    if (backlog === null) return
    this.#all.delete(from)
    from.backlog = null
    backlog.moveTo(to)
    to.backlog = backlog
    this.#all.set(to, backlog)
  }

  /** Counts a queued packet. @param {number} bytes */
  added (bytes) { this.#bytes += bytes }

  /** Counts an ephemeral record that was dropped or replaced by a newer one. */
  dropped () {
    this.#metrics.dropped_ephemerals.inc()
  }

  /** @param {Connection} connection that is too slow */
  giveUp (connection) {
    this.#metrics.slow_connections.inc()
    connection.giveUp()
  }

  /**
   * Recounts all backlogs, removes finished ones, and closes connections that were behind or read nothing for too long.
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
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** @param {Backlog} backlog @param {number} now ms */
  #isTooSlow (backlog, now) {
    const { slowTimeout = SLOW_TIMEOUT } = this.#settings
    return backlog.stalledFor(now) >= slowTimeout || (backlog.behind > 0 && now - backlog.behindSince >= slowTimeout)
  }

  #collect () {
    this.look()
    this.#metrics.waiting_bytes.set(this.#bytes)
    this.#metrics.waiting_records.set(this.#records)
    this.#metrics.connections_behind.set([...this.#all.values()].filter(({ behind }) => behind > 0).length)
  }
}
