import { AwakeTime } from '../../base/common/awake-time.js'
import { kOwner } from '../engine/link.js'

/**
 * Limits the memory of unfinished input: sessions that are not admitted (their CONNECT is not accepted yet), with the
 * heads of their requests, and messages received in part. There is a limit for each session and one for all together;
 * above it the oldest session is closed.
 * Why these limits: docs/internals/decisions/0090-limits-of-clients.md
 *
 * @typedef {object} EarlySession
 * @property {number} since ms
 * @property {number} bytes in memory
 * @property {number} head part of `bytes`: the head of the first request
 * @property {number} frames received
 * @property {number} received bytes of messages
 */

/**
 * Largest message of a client that is not admitted, bytes; a token has 16 KB at most. Exported for tests: a limit.
 */
export const EARLY_MESSAGE = 2 ** 16
/** All its messages together, bytes: CONNECT may be tried again. */
const EARLY_RECEIVED = 2 * EARLY_MESSAGE
/** All its frames, pings and fragments included. */
const EARLY_FRAMES = 100
/** Timeout for admission, ms. */
const PATIENCE = 10_000
/** Limit of sessions that are not admitted, in seconds of the handshake rate. */
const EARLY_SECONDS = 2
/** Average bytes of each of these sessions. */
const EARLY_BYTES = 4096
/** Bytes of unfinished messages of admitted clients, and a minimum: this number of the largest messages. */
const LATE_BYTES = 2 ** 26
const LATE_MESSAGES = 4
/** Interval at which timeouts are checked, ms. */
const LOOK_EVERY = 1000

export class InputLimits {
  /** Sessions that are not admitted, oldest first. @type {Map<any, EarlySession>} */
  #early = new Map()
  #earlyBytes = 0
  /**
   * Bytes of unfinished messages by session of an admitted client, oldest first.
   * @type {Map<any, number>}
   */
  #late = new Map()
  #lateBytes = 0
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #maxBytes
  #maxSessions
  #maxEarlyBytes
  #maxLateBytes
  #metrics
  #clock
  #time

  /**
   * @param {object} settings
   * @param {number} settings.maxBytes largest message of an admitted client
   * @param {number} settings.perSecond handshakes
   * @param {import('../../observe/metrics/metrics.js').Metrics} metrics
   * @param {import('../../base/common/clock.js').Clock} clock
   */
  constructor ({ maxBytes, perSecond }, metrics, clock) {
    this.#maxBytes = maxBytes
    this.#maxSessions = EARLY_SECONDS * perSecond
    this.#maxEarlyBytes = Math.max(LATE_MESSAGES * EARLY_MESSAGE, EARLY_BYTES * this.#maxSessions)
    this.#maxLateBytes = Math.max(LATE_BYTES, LATE_MESSAGES * maxBytes)
    this.#metrics = metrics
    this.#clock = clock
    this.#time = new AwakeTime(clock, 2 * LOOK_EVERY)
    metrics.onCollect(() => {
      metrics.sessions_not_admitted.set(this.#early.size)
      metrics.unfinished_bytes.set({ clients: 'new' }, this.#earlyBytes)
      metrics.unfinished_bytes.set({ clients: 'admitted' }, this.#lateBytes)
    })
  }

  /**
   * Counts a new session.
   * @param {any} session Engine.IO's socket
   * @param {number} head bytes of its request
   */
  enter (session, head) {
    session.maxBytes = Math.min(EARLY_MESSAGE, this.#maxBytes)
    this.#early.set(session, { since: this.#time.now(), bytes: 0, head, frames: 0, received: 0 })
    this.#timer ??= this.#clock.every(LOOK_EVERY, () => this.look()).unref()
    if (this.#early.size > this.#maxSessions) this.#cutOldest(this.#early, 'sessions')
    this.holds(session, head)
  }

  /** Lifts the limits of a client that is admitted. @param {any} session */
  admit (session) {
    const early = this.#early.get(session)
    if (early === undefined) return
    this.leave(session)
    session.maxBytes = this.#maxBytes
    if (early.bytes > early.head) this.holds(session, early.bytes - early.head)
  }

  /** @param {any} session @returns {boolean} whether its client is not admitted yet */
  isEarly (session) { return this.#early.has(session) }

  /** Forgets a session. @param {any} session */
  leave (session) {
    const early = this.#early.get(session)
    if (early !== undefined) {
      this.#early.delete(session)
      this.#earlyBytes -= early.bytes
    } else if (this.#late.size > 0) {
      this.#lateBytes -= this.#late.get(session) ?? 0
      this.#late.delete(session)
    }
  }

  /**
   * Counts the input of a client that is not admitted, and closes its session above the limit.
   * @param {any} session
   * @param {number} frames
   * @param {number} bytes of messages
   */
  received (session, frames, bytes) {
    const early = this.#early.get(session)
    if (early === undefined) return
    early.frames += frames
    early.received += bytes
    if (early.frames > EARLY_FRAMES || early.received > EARLY_RECEIVED) this.#cut(session, 'flood')
  }

  /**
   * Counts memory for unfinished input. Above the limit the oldest session is closed, which may be this one.
   * @param {any} session
   * @param {number} more bytes; negative: memory was freed
   */
  holds (session, more) {
    const early = this.#early.get(session)
    if (early !== undefined) {
      early.bytes += more
      this.#earlyBytes += more
      while (this.#earlyBytes > this.#maxEarlyBytes && this.#early.size > 0) this.#cutOldest(this.#early, 'bytes')
      return
    }
    const bytes = this.#late.get(session)
    // The session has ended.
    if (bytes === undefined && (more <= 0 || session.readyState === 'closed')) return
    const sum = (bytes ?? 0) + more
    this.#lateBytes += more
    if (sum > 0) this.#late.set(session, sum)
    else this.#late.delete(session)
    this.#timer ??= this.#clock.every(LOOK_EVERY, () => this.look()).unref()
    while (this.#lateBytes > this.#maxLateBytes && this.#late.size > 0) this.#cutOldest(this.#late, 'bytes')
  }

  /** Closes sessions after their timeout, and forgets those that have ended. @param {number} [now] ms */
  look (now = this.#time.now()) {
    for (const [session, { since }] of this.#early) {
      if (now - since < PATIENCE) break
      this.#cut(session, 'late')
    }
    for (const session of this.#late.keys()) if (session.readyState === 'closed') this.leave(session)
    if (this.#early.size > 0 || this.#late.size > 0) return
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** @param {Map<any, unknown>} sessions @param {string} reason */
  #cutOldest (sessions, reason) {
    for (const session of sessions.keys()) return this.#cut(session, reason)
  }

  /** @param {any} session @param {string} reason */
  #cut (session, reason) {
    const early = this.#early.has(session)
    this.leave(session)
    if (session.readyState === 'closed') return
    this.#metrics.sessions_cut.inc({ reason })
    if (!early) session[kOwner]?.giveUp('too much unfinished input, resume')
    // without waiting for the client's close frame
    session.terminate()
  }
}
