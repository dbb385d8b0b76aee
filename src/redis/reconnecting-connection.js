import { Backoff } from '../base/common/backoff.js'
import { RECONNECT } from './options.js'

/** Interval of pings, ms: without them an idle connection would not notice that the server is gone. */
const PING_INTERVAL = 5000

/**
 * @typedef {import('ioredis').Redis} Redis
 *
 * @typedef {object} Attempt
 * @property {() => Redis | undefined} open creates the connection of one attempt with its listeners, not yet connected
 *   and with ONE_ATTEMPT; undefined: no server is known now
 * @property {(redis: Redis) => Promise<unknown>} [prepare] subscribes; if it fails, so does the attempt
 * @property {(redis: Redis, again: boolean) => void} [onUp] connected and prepared; again: it was before
 * @property {() => void} [onDown] called after each loss and after each failed attempt
 * @property {(error: unknown) => void} [onFailed] called with the error that ended an attempt, before `onDown`
 *
 * @typedef {{ clock: import('../base/common/clock.js').Clock, random: import('../base/common/random.js').Random }}
 *   Sources
 */

/**
 * A connection to Redis that is kept: connects, pings, and after a loss or a failed attempt connects again, with
 * backoff and without a limit, until `stop`. Each attempt has a connection of its own, so it may go to another server.
 *
 *     down → connecting → up → down → connecting → …, from each of them → stopped
 *
 * A server that does not reply to a ping in time (socketTimeout in connectionOptions) is a loss.
 */
export class ReconnectingConnection {
  /** @type {'down' | 'connecting' | 'up' | 'stopped'} */
  #state = 'down'
  /** The connection of this attempt. @type {Redis | undefined} */
  #redis
  #wasUp = false
  #backoff
  #stopping = new AbortController()
  #attempt
  #clock
  #pinging

  /**
   * @param {Attempt} attempt
   * @param {Sources} sources
   */
  constructor (attempt, { clock, random }) {
    this.#attempt = attempt
    this.#clock = clock
    this.#backoff = new Backoff({ ...RECONNECT, random })
    this.#pinging = clock.every(PING_INTERVAL, () => { this.redis?.ping().catch(() => {}) }).unref()
  }

  get state () { return this.#state }

  /** The connection while it takes commands. */
  get redis () { return this.#state === 'up' && this.#redis?.status === 'ready' ? this.#redis : undefined }

  /** To be called once. @returns {Promise<void>} resolves after the first attempt; never rejects */
  start () { return this.#connect() }

  async #connect () {
    if (this.#stopping.signal.aborted) return
    this.#state = 'connecting'
    const redis = this.#redis = this.#attempt.open()
    if (redis === undefined) return this.#lost(redis)
    redis.on('error', () => {}) // a close follows
    redis.on('close', () => this.#lost(redis))
    try {
      await redis.connect()
      await this.#attempt.prepare?.(redis)
    } catch (error) {
      // without a server that Sentinel names there is no close
      this.#lost(redis, error)
      redis.disconnect()
      return
    }
    // closed or stopped meanwhile
    if (this.#redis !== redis) return
    this.#state = 'up'
    this.#backoff.reset()
    const again = this.#wasUp
    this.#wasUp = true
    this.#attempt.onUp?.(redis, again)
  }

  /**
   * @param {Redis | undefined} redis ends once
   * @param {unknown} [error]
   */
  #lost (redis, error) {
    if (this.#redis !== redis) return
    this.#redis = undefined
    this.#state = 'down'
    if (error !== undefined) this.#attempt.onFailed?.(error)
    this.#attempt.onDown?.()
    this.#clock.sleep(this.#backoff.next(), this.#stopping.signal).then(() => this.#connect(), () => {})
  }

  /** Connects again, because another server may be the right one now. */
  reconnect () { this.#redis?.disconnect() }

  stop () {
    const redis = this.#redis
    this.#redis = undefined
    this.#state = 'stopped'
    this.#stopping.abort()
    this.#pinging.stop()
    redis?.disconnect()
  }
}
