import { Backoff } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { waitKey } from '../keys.js'
import { Line } from './line.js'
import { explain, MODES, neverConfirms, NOT_CONNECTED, NotConfirmed, versionOf } from './modes.js'

/**
 * Writes to one node of Redis, and waits until they are safe. WAIT and WAITAOF block their connection and count its own
 * writes only. So two connections take turns: one takes writes while the other one waits for those that it took. One
 * call at a time; the writes that come meanwhile share the next one.
 *
 * @typedef {import('./line.js').Place} Place
 * @typedef {import('./line.js').Waiter} Waiter
 *
 * @typedef {object} Dependencies
 * @property {Pick<import('../client.js').RedisConnection, 'topology' | 'track'>} redis
 * @property {string} name of the process
 * @property {import('./modes.js').Mode} mode
 * @property {number} timeout ms
 * @property {import('./modes.js').DurabilityMetrics} metrics
 * @property {import('../../base/common/log.js').Log} log
 * @property {import('../../base/common/clock.js').Clock} clock
 * @property {import('../../base/common/random.js').Random} random
 */

/** Writes that wait on a node at most; further ones are refused before they are made. */
const MAX_WAITING = 50_000
/** One call takes no longer, ms: a Redis that hangs is noticed so much later. */
const CALL = 1000
/** Pause between two tries while writes are not confirmed, ms; it grows. */
const PAUSE = { min: 100, max: 1000 }
/** After this number of failed tries connections are opened again: the address may lead to another server now. */
const TRIES = 5

export class NodeWait {
  #nodeKey
  #dependencies
  #mode
  #lines
  /** Where the last write went. @type {Line} */
  #last
  /** Resolves when a write on `last` overtakes none on the other line. @type {Promise<unknown>} */
  #turned = Promise.resolve()
  #stopping = new AbortController()
  #waiting = 0
  #isRunning = false
  /** Why writes are not confirmed; null: they are. @type {string | null} */
  trouble = null
  /** A key in a hash slot whose writes were not confirmed. @type {string | undefined} */
  #unconfirmed

  /** @param {string} nodeKey @param {Dependencies} dependencies */
  constructor (nodeKey, dependencies) {
    this.#nodeKey = nodeKey
    this.#dependencies = dependencies
    this.#mode = dependencies.mode
    const name = `${dependencies.name}-wait`
    this.#lines = [0, 1].map(() => new Line({ nodeKey, redis: dependencies.redis, name, blocks: CALL }, dependencies))
    this.#last = this.#lines[0]
  }

  /**
   * Connects, and tries once.
   * @throws {Error} with the fix in its message: this Redis can never confirm
   */
  async start () {
    await this.#begun()
    const [line] = this.#lines
    try {
      await this.#confirm(line)
    } catch (error) {
      const problem = neverConfirms(this.#mode, error, await versionOf(line.place?.redis))
      if (problem !== undefined) throw new Error(problem, { cause: error })
      this.#setTrouble(explain(this.#mode, error))
    }
  }

  /**
   * @param {boolean} regardless also while writes are not confirmed
   * @returns {Promise<Place | undefined>} for a write, and then for `confirmed`; undefined (with `regardless` only):
   *   there is no connection that could confirm it. Rejects with `unavailable` if it must not be made
   */
  async before (regardless) {
    if (this.#waiting >= MAX_WAITING) throw this.#refused('too many publications wait for Redis')
    await this.#begun()
    const line = this.#taking()
    await this.#turned
    if (this.trouble !== null && !regardless) throw this.#refused(this.trouble)
    if (line?.place === undefined && !regardless) throw this.#refused(this.#lost())
    return line?.place
  }

  #begun () { return Promise.all(this.#lines.map(({ begun }) => begun)) }

  /** @returns {Line | undefined} that takes writes now: the same one until it waits */
  #taking () {
    const up = [this.#last, ...this.#lines].filter(({ place }) => place !== undefined)
    const line = up.find(({ isWaiting }) => !isWaiting) ?? up[0]
    if (line !== undefined && line !== this.#last) {
      this.#turned = this.#last.executed
      this.#last = line
    }
    return line
  }

  /**
   * Resolves when everything that was written there before the call is safe.
   * @param {Place | undefined} place from `before`
   * @param {string} key that was written
   * @returns {Promise<void>} rejects with `timeout`: the write may be lost with this server
   */
  confirmed (place, key) {
    const { metrics, clock, timeout } = this.#dependencies
    const since = clock.monotonic()
    return new Promise((resolve, reject) => {
      this.#waiting++
      metrics.write_waits_pending.inc()
      /** @param {InkcastError} [error] */
      const settle = (error) => {
        if (waiter.settled) return
        waiter.settled = true
        this.#waiting--
        timer.stop()
        metrics.write_waits_pending.dec()
        metrics.write_waits.inc({ result: error === undefined ? 'ok' : 'unknown' })
        metrics.write_wait_seconds.observe((clock.monotonic() - since) / 1000)
        if (error === undefined) resolve()
        else reject(error)
      }
      const giveUp = () => {
        if (waiter.settled) return
        const reason = line?.place === undefined ? NOT_CONNECTED : MODES[this.#mode].missing
        // now, not when the call ends: Redis may answer up to 100 ms late, and who sends again at once is refused
        this.#unconfirmed = key
        this.#setTrouble(reason)
        settle(unknown(reason))
      }
      // if this process was late itself, the answer may be there, and is read first
      const timer = clock.timer(timeout, () => { clock.soon(giveUp) })
      const waiter = { place: /** @type {Place} */ (place), key, settled: false, settle }
      const line = this.#lines.find((line) => place !== undefined && line.place?.redis === place.redis)
      if (this.#stopping.signal.aborted) return settle(unknown('stopped'))
      if (place === undefined || line === undefined) return settle(unknown(this.#lost()))
      line.waiters.push(waiter)
      if (!this.#isRunning) this.#run()
    })
  }

  /** Calls until no write waits. Never rejects. */
  async #run () {
    this.#isRunning = true
    for (let line; (line = this.#lines.find(({ waiters }) => waiters.length > 0)) !== undefined;)
      await this.#confirm(line).catch((error) => this.#setTrouble(explain(this.#mode, error)))
    this.#isRunning = false
  }

  /**
   * Waits for the writes on a line.
   * @param {Line} line
   * @param {string} [key] to be written first
   */
  async #confirm (line, key) {
    const waiters = line.waiters.splice(0)
    try {
      const { reply, place } = await line.wait((redis) => {
        if (key !== undefined) redis.set(key, '1', 'EX', 60).catch(() => {}) // the wait then counts what was before
        return MODES[this.#mode].wait(redis, Math.min(CALL, this.#dependencies.timeout))
      })
      const { isDone, missing } = MODES[this.#mode]
      if (!isDone(reply)) {
        line.waiters.unshift(...waiters.filter(({ settled }) => !settled))
        if (line.waiters.length === 0) throw new NotConfirmed(missing)
        return
      }
      this.#setTrouble(null)
      for (const { place: { redis, generation }, settle } of waiters)
        settle(redis === place.redis && generation === place.generation ? undefined : unknown(FAILED_OVER))
    } catch (error) {
      this.#unconfirmed = waiters[0]?.key ?? this.#unconfirmed
      for (const { settle } of waiters) settle(unknown(explain(this.#mode, error)))
      throw error
    }
  }

  /** @param {string | null} reason */
  #setTrouble (reason) {
    const { trouble } = this
    const { log } = this.#dependencies
    const node = this.#nodeKey
    this.trouble = reason
    if (reason === null && trouble !== null) log.info({ node }, 'redis confirms writes again')
    if (reason === null || trouble !== null || this.#stopping.signal.aborted) return
    log.warn({ node, reason }, 'redis does not confirm writes, publications are refused')
    this.#probe()
  }

  /** Tries until Redis confirms a write. Never rejects. */
  async #probe () {
    const { signal } = this.#stopping
    const { clock, random } = this.#dependencies
    const backoff = new Backoff({ ...PAUSE, random })
    while (this.trouble !== null && !signal.aborted) {
      await clock.sleep(backoff.next(), signal).catch(() => {})
      if (this.#isRunning || signal.aborted) continue
      if (backoff.tries % TRIES === 0) this.follow()
      this.#isRunning = true
      const key = this.#unconfirmed && waitKey(this.#unconfirmed)
      await this.#confirm(this.#lines[0], key).catch((error) => { this.trouble = explain(this.#mode, error) })
      await this.#run()
    }
  }

  /** To be called when the connection for commands was opened again, perhaps to another server. */
  follow () { for (const line of this.#lines) line.reconnect() }

  stop () {
    this.#stopping.abort()
    for (const line of this.#lines) {
      for (const { settle } of line.waiters.splice(0)) settle(unknown('stopped'))
      line.close()
    }
  }

  /** A connection is gone. @returns {string} why nothing is confirmed */
  #lost () {
    if (this.#lines.some(({ place }) => place !== undefined)) return FAILED_OVER
    this.#setTrouble(NOT_CONNECTED)
    return NOT_CONNECTED
  }

  /** @param {string} reason */
  #refused (reason) {
    this.#dependencies.metrics.write_waits.inc({ result: 'refused' })
    return new InkcastError('unavailable', `nothing was written: ${reason}`)
  }
}

const FAILED_OVER = 'the connection to Redis was lost, or Redis has failed over'

/** @param {string} reason */
const unknown = (reason) => new InkcastError('timeout', `written, but not confirmed: ${reason}`)
