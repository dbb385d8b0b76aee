import { Beat, answered, dueAt, isDead, pinged } from './policy.js'
import { TICK, TimingWheel } from './wheel.js'

/** Where a connection has its Beat. */
const kBeat = Symbol('beat')
/**
 * Connections that are looked at in one turn of the event loop: a ping is a write, closing one takes some 0.1 ms, and
 * records that arrive meanwhile wait.
 */
const BATCH = 10

/**
 * Not a closure of each heartbeat: those of the warm-up would be compiled in, and discarded with the first client.
 *
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} clock
 * @returns {number} whole ms
 */
const uptime = (clock) => Math.trunc(clock.monotonic())

/**
 * The heartbeat of all connections of a worker: one timer and one timing wheel. The policy is in policy.js.
 *
 * @param {object} dependencies
 * @param {import('../../config/load.js').Config['heartbeat']['network']} dependencies.settings
 * @param {(conn: any) => string | undefined} dependencies.tierOf undefined if unknown
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon'>} dependencies.clock
 */
export function createHeartbeat ({ settings, tierOf, metrics, clock }) {
  const { max: advertised, tiers } = settings
  /** @type {Map<string | undefined, import('./policy.js').Figures>} */
  const figuresByTier = new Map(tiers.map(({ name, ...figures }) => [name, figures]))
  /** @type {TimingWheel<Beat>} */
  const wheel = new TimingWheel(Math.max(settings.max, settings.timeout), uptime(clock))
  let started = false
  /**
   * Runs while there are connections: a worker at rest is not woken.
   * @type {import('../../base/common/clock.js').Timer | undefined}
   */
  let timer
  /** @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
  let later

  /** A tier that is not configured is none. @param {any} conn */
  const figuresOf = (conn) => figuresByTier.get(tierOf(conn)) ?? settings

  /** @param {Beat} beat */
  function plan (beat) {
    wheel.put(beat, dueAt(beat, figuresOf(beat.conn), advertised))
    if (timer === undefined && started) timer = clock.every(TICK, tick).unref()
  }

  /** Deferred, so that bytes which arrived while the process hung are read before a connection is given up. */
  function tick () {
    if (wheel.advance(uptime(clock))) later ??= clock.soon(run)
    else if (wheel.size === 0) halt()
  }

  function halt () {
    timer?.stop()
    timer = undefined
  }

  /** @param {Beat} beat @param {number} time */
  function visit (beat, time) {
    const { conn } = beat
    if (conn.readyState === 'closed') return
    const figures = figuresOf(conn)
    if (isDead(beat, figures, time)) {
      metrics.expired_connections.inc()
      return conn.terminate('ping timeout')
    }
    // otherwise something was heard since, or its tier is known now
    if (time >= dueAt(beat, figures, advertised)) {
      pinged(beat, time)
      metrics.heartbeats.inc()
      conn.sendPing()
    }
    // sending may have ended it
    if (conn.readyState !== 'closed') plan(beat)
  }

  /** @returns {boolean} whether there is more to do */
  function turn () {
    const time = uptime(clock)
    for (let i = 0; i < BATCH; i++) {
      const beat = wheel.take()
      if (beat === undefined) return false
      visit(beat, time)
    }
    return true
  }

  function run () { later = turn() ? clock.soon(run) : undefined }

  return {
    start () { started = true },

    stop () {
      started = false
      halt()
      later?.stop()
    },

    /** Takes over the heartbeat of a connection until it is closed. @param {any} conn */
    watch (conn) {
      conn.stopTimers()
      conn[kBeat] = new Beat(conn, uptime(clock))
      plan(conn[kBeat])
    },

    /**
     * Lets go of a connection that is closed; of others at the next look. Called rather than listening to its `close`:
     * one more listener would cost more memory than the timers did.
     * @param {any} conn watched
     */
    forget (conn) { if (conn.readyState === 'closed') wheel.remove(conn[kBeat]) },

    /** Its tier is known now. @param {any} conn watched, and not closed */
    replan (conn) { plan(conn[kBeat]) },

    /** @param {any} conn watched @param {string} type of the packet that has arrived from it */
    heard (conn, type) {
      /** @type {Beat} */
      const beat = conn[kBeat]
      const time = beat.heard = uptime(clock)
      if (beat.awaited < 0) return
      if (type === 'pong') metrics.heartbeat_seconds.observe((time - beat.awaited) / 1000)
      if (answered(beat, figuresOf(conn), time)) metrics.late_heartbeats.inc()
      plan(beat)
    },

    /**
     * @param {any} conn watched, also after it was closed
     * @returns {number} how long ago something arrived from it last, ms
     */
    silence (conn) { return uptime(clock) - conn[kBeat].heard }
  }
}
