import { Beat, answered, dueAt, isDead, measured, pinged } from './policy.js'
import { TICK, TimingWheel } from './wheel.js'

/** Where a connection has its Beat. */
const kBeat = Symbol('beat')
/**
 * Connections that are looked at in one turn of the event loop: a ping is a write, closing one takes some 0.1 ms, and
 * records that arrive meanwhile wait.
 */
const BATCH = 10

/** The heartbeat of all connections of a worker: one timer and one timing wheel. The policy is in policy.js. */
export class Heartbeat {
  #figuresByTier
  /** @type {TimingWheel<Beat>} */
  #wheel
  #started = false
  /**
   * Runs while there are connections: a worker at rest is not woken.
   * @type {import('../../base/common/clock.js').Timer | undefined}
   */
  #timer
  /** @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
  #later

  /**
   * @param {object} dependencies
   * @param {import('../../config/load.js').Config['heartbeat']['network']} dependencies.settings
   * @param {(conn: any) => string | undefined} dependencies.tierOf undefined if unknown
   * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon'>} dependencies.clock
   */
  constructor ({ settings, tierOf, metrics, clock }) {
    this.settings = settings
    this.tierOf = tierOf
    this.metrics = metrics
    this.clock = clock
    this.#figuresByTier = new Map(settings.tiers.map(({ name, ...figures }) =>
      /** @type {[string | undefined, import('./policy.js').Figures]} */ ([name, figures])))
    this.#wheel = new TimingWheel(Math.max(settings.max, settings.timeout), this.#uptime())
  }

  start () { this.#started = true }

  stop () {
    this.#started = false
    this.#halt()
    this.#later?.stop()
  }

  /** Takes over the heartbeat of a connection until it is closed. @param {any} conn */
  watch (conn) {
    conn[kBeat] = new Beat(conn, this.#uptime())
    this.#plan(conn[kBeat])
  }

  /**
   * Lets go of a connection that is closed; of others at the next look. Called rather than listening to its `close`:
   * one more listener would cost more memory than the timers did.
   * @param {any} conn watched
   */
  forget (conn) { if (conn.readyState === 'closed') this.#wheel.remove(conn[kBeat]) }

  /** Its tier is known now. @param {any} conn watched, and not closed */
  replan (conn) { this.#plan(conn[kBeat]) }

  /** @param {any} conn watched @param {string} type of the packet that has arrived from it */
  heard (conn, type) {
    /** @type {Beat} */
    const beat = conn[kBeat]
    const time = beat.heard = this.#uptime()
    if (beat.awaited < 0) return
    if (type === 'pong') {
      this.metrics.heartbeat_seconds.observe((time - beat.awaited) / 1000)
      if (conn.answersAtOnce) measured(beat, time)
    }
    if (answered(beat, this.#figuresOf(conn), time)) this.metrics.late_heartbeats.inc()
    this.#plan(beat)
  }

  /**
   * @param {any} conn watched, also after it was closed
   * @returns {number} how long ago something arrived from it last, ms
   */
  silence (conn) { return this.#uptime() - conn[kBeat].heard }

  /** Whole ms. */
  #uptime () { return Math.trunc(this.clock.monotonic()) }

  /** A tier that is not configured is none. @param {any} conn */
  #figuresOf (conn) { return this.#figuresByTier.get(this.tierOf(conn)) ?? this.settings }

  /** @param {Beat} beat */
  #plan (beat) {
    const { heard, conn: { silence } } = beat
    this.#wheel.put(beat, silence === undefined
      ? dueAt(beat, this.#figuresOf(beat.conn), this.settings.max)
      : Math.min(heard + silence, this.#uptime() + this.settings.max))
    if (this.#timer === undefined && this.#started) this.#timer = this.clock.every(TICK, () => this.#tick()).unref()
  }

  /** Deferred, so that bytes which arrived while the process hung are read before a connection is given up. */
  #tick () {
    if (this.#wheel.advance(this.#uptime())) this.#later ??= this.clock.soon(this.#run)
    else if (this.#wheel.size === 0) this.#halt()
  }

  #halt () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  #run = () => { this.#later = this.#turn() ? this.clock.soon(this.#run) : undefined }

  /** @returns {boolean} whether there is more to do */
  #turn () {
    const time = this.#uptime()
    for (let i = 0; i < BATCH; i++) {
      const beat = this.#wheel.take()
      if (beat === undefined) return false
      this.#visit(beat, time)
    }
    return true
  }

  /** @param {Beat} beat @param {number} time */
  #visit (beat, time) {
    const { conn } = beat
    if (conn.readyState === 'closed') return
    if (conn.silence !== undefined && time < beat.heard + conn.silence) return this.#plan(beat)
    const figures = this.#figuresOf(conn)
    if (conn.silence !== undefined || isDead(beat, figures, time)) {
      this.metrics.expired_connections.inc()
      return conn.terminate('ping timeout')
    }
    // otherwise something was heard since, or its tier is known now
    if (time >= dueAt(beat, figures, this.settings.max)) {
      pinged(beat, time)
      this.metrics.heartbeats.inc()
      conn.sendPing()
    }
    // sending may have ended it
    if (conn.readyState !== 'closed') this.#plan(beat)
  }
}
