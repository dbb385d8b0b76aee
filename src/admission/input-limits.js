import { kOwner } from '../engine/link.js'

/**
 * What a worker keeps of clients before they have said anything whole: sessions that are not admitted (their CONNECT is
 * not accepted yet), with the heads of their requests, and messages of which a part has come. Each is bounded by
 * itself, and all of them together; where there is too much, the oldest goes. Why these bounds:
 * docs/decisions/0090-inputLimits.md
 *
 * @typedef {object} EarlySession
 * @property {number} since ms
 * @property {number} bytes that are kept
 * @property {number} head of them, those of the request that began it
 * @property {number} frames that have come
 * @property {number} received bytes of messages that have come
 */

/**
 * Largest message of a client that is not admitted, bytes: a token is 16 KB at most. Exported for tests: a bound.
 */
export const EARLY_MESSAGE = 2 ** 16
/** All its messages together: CONNECT may be tried again. */
const EARLY_RECEIVED = 2 * EARLY_MESSAGE
/** All its frames, also those that are no message. */
const EARLY_FRAMES = 100
/** How long a client may take to be admitted, ms. */
const PATIENCE = 10_000
/** Sessions that are not admitted, in seconds of what may begin. */
const EARLY_SECONDS = 2
/** Bytes that are kept of each of those sessions on average. */
const EARLY_BYTES = 4096
/** Bytes of unfinished messages of clients that are admitted, and how many of the largest there may be in any case. */
const LATE_BYTES = 2 ** 26
const LATE_MESSAGES = 4
/** How often it is looked at who is late, ms. */
const LOOK_EVERY = 1000

export class InputLimits {
  /** Sessions that are not admitted, the oldest first. @type {Map<any, EarlySession>} */
  #early = new Map()
  #earlyBytes = 0
  /**
   * Sessions of clients that are admitted and have sent a part of a message, the oldest of these first.
   * @type {Map<any, number>}
   */
  #late = new Map()
  #lateBytes = 0
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #maxBytes
  #maxSessions
  #maxEarlyBytes
  #maxLateBytes
  #metrics
  #clock

  /**
   * @param {object} settings
   * @param {number} settings.maxBytes largest message of a client that is admitted
   * @param {number} settings.perSecond sessions that may begin
   * @param {import('../metrics/metrics.js').Metrics} metrics
   * @param {import('../common/clock.js').Clock} clock
   */
  constructor ({ maxBytes, perSecond }, metrics, clock) {
    this.#maxBytes = maxBytes
    this.#maxSessions = EARLY_SECONDS * perSecond
    this.#maxEarlyBytes = Math.max(LATE_MESSAGES * EARLY_MESSAGE, EARLY_BYTES * this.#maxSessions)
    this.#maxLateBytes = Math.max(LATE_BYTES, LATE_MESSAGES * maxBytes)
    this.#metrics = metrics
    this.#clock = clock
    metrics.onCollect(() => {
      metrics.sessions_not_admitted.set(this.#early.size)
      metrics.unfinished_bytes.set({ clients: 'new' }, this.#earlyBytes)
      metrics.unfinished_bytes.set({ clients: 'admitted' }, this.#lateBytes)
    })
  }

  /**
   * A session begins.
   * @param {any} session Engine.IO's socket
   * @param {number} head bytes of its request
   */
  enter (session, head) {
    session.maxBytes = Math.min(EARLY_MESSAGE, this.#maxBytes)
    this.#early.set(session, { since: this.#clock.monotonic(), bytes: 0, head, frames: 0, received: 0 })
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY).unref()
    if (this.#early.size > this.#maxSessions) this.#cutOldest(this.#early, 'sessions')
    this.holds(session, head)
  }

  /** Its client is admitted. @param {any} session */
  admit (session) {
    const early = this.#early.get(session)
    if (early === undefined) return
    this.leave(session)
    session.maxBytes = this.#maxBytes
    if (early.bytes > early.head) this.holds(session, early.bytes - early.head)
  }

  /** @param {any} session @returns {boolean} whether its client is not admitted yet */
  isEarly (session) { return this.#early.has(session) }

  /** Nothing more is kept of it. @param {any} session */
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
   * Counts what has come from a client that is not admitted, and ends its session where it is too much.
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
   * More is kept of what is no message yet, or less.
   * @param {any} session which may be ended by it
   * @param {number} more bytes
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
    // it has ended
    if (bytes === undefined && (more <= 0 || session.readyState === 'closed')) return
    const sum = (bytes ?? 0) + more
    this.#lateBytes += more
    if (sum > 0) this.#late.set(session, sum)
    else this.#late.delete(session)
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY).unref()
    while (this.#lateBytes > this.#maxLateBytes && this.#late.size > 0) this.#cutOldest(this.#late, 'bytes')
  }

  /** Ends sessions that are late, and forgets those that have ended. @param {number} [now] ms */
  look (now = this.#clock.monotonic()) {
    for (const [session, { since }] of this.#early) {
      if (now - since < PATIENCE) break
      this.#cut(session, 'late')
    }
    for (const session of this.#late.keys()) if (session.readyState === 'closed') this.leave(session)
    if (this.#early.size > 0 || this.#late.size > 0) return
    clearInterval(this.#timer)
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
    if (!early) session[kOwner]?.giveUp('too much has come in parts, resume')
    // what ws has would stay until its client has closed as well
    session.terminate()
  }
}
