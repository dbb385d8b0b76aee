import { Backoff } from '../base/common/backoff.js'
import { canaryRecord, canaryText, readCanary } from './canary.js'

/** ms; docs/internals/decisions/0013-ingest-consumer.md */
const TIMES = {
  /** Interval of canaries, one per partition. */
  cycle: 5000,
  /** A partition is wedged when this time after Kafka accepted a canary neither it nor any record has come through. */
  wedged: 15_000,
  /** Minimum time between two replacements of the consumer; doubles each time. */
  backoff: 30_000,
  maxBackoff: 600_000
}

/**
 * @typedef {object} Watched
 * @property {number} takenAt time when Kafka last accepted a canary
 * @property {number} [missing] send time of the oldest accepted canary that is not back
 * @property {number} since time when it was accepted, or when another record of its partition came through
 * @property {number} [unanswered] send time of the oldest canary that is not back, also of one that Kafka did not
 *   accept; for the metric alone
 */

/**
 * Sends a canary through each assigned partition and waits for it to come back through pub/sub. A consumer that
 * delivers neither canaries nor records while Kafka and Redis accept them is wedged: readiness fails, and the consumer
 * is replaced. While Kafka or Redis is unavailable, missing canaries do not count.
 */
export class Watchdog {
  #producer
  #echo
  #consumer
  #metrics
  #log
  #clock
  #times
  /**
   * A service without a response for longer is unavailable, and canaries missing then are not the consumer's fault, ms.
   */
  #away
  /** @type {Map<number, Watched>} assigned partitions */
  #watched = new Map()
  /** @type {Set<number>} wedged partitions, until a canary is back */
  #stalled = new Set()
  /** @type {Set<number>} partitions behind an open transaction, until a canary is back */
  #heldBack = new Set()
  #stopping = new AbortController()
  #waits
  #echoedAt
  #nextReplacementAt = -Infinity
  /** @type {Promise<void> | undefined} */
  #running

  /**
   * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock'> & Own} dependencies
   *
   * @typedef {object} Own
   * @property {Pick<import('../kafka/producer.js').Producer, 'stop' | 'send'>} producer of the downlink topic
   * @property {import('./redis-echo.js').Echo} echo
   * @property {Pick<import('../kafka/consumer.js').Consumer, 'assigned' | 'replace' | 'readable'>} consumer `readable`
   *   never rejects, and takes no longer than a cycle
   * @property {Pick<import('../observe/metrics/metrics.js').Metrics, 'canary_age_seconds'>} metrics
   * @property {Partial<typeof TIMES>} [times] for tests
   */
  constructor ({ producer, echo, consumer, metrics, log, clock, times }) {
    this.#producer = producer
    this.#echo = echo
    this.#consumer = consumer
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
    this.#times = { ...TIMES, ...times }
    this.#away = 1.5 * this.#times.cycle
    this.#waits = new Backoff({ min: this.#times.backoff, max: this.#times.maxBackoff, random: { number: () => 1 } })
    this.#echoedAt = clock.monotonic()
  }

  /** @param {string} text */
  #onEcho (text) {
    this.#echoedAt = this.#clock.monotonic()
    const canary = readCanary(text)
    const state = canary === undefined ? undefined : this.#watched.get(canary.partition)
    if (canary === undefined || state === undefined) return
    const { partition } = canary
    this.#metrics.canary_age_seconds.set({ partition }, Math.max(0, this.#clock.monotonic() - canary.sentAt) / 1000)
    if (state.missing !== undefined && canary.sentAt >= state.missing) state.missing = undefined
    if (state.unanswered !== undefined && canary.sentAt >= state.unanswered) state.unanswered = undefined
    this.#heldBack.delete(partition)
    if (this.#stalled.delete(partition)) this.#log.info({ partition }, 'records come through again')
  }

  /** Follows the assignment. */
  #follow () {
    const ours = new Set(this.#consumer.assigned())
    for (const partition of [...this.#watched.keys(), ...this.#stalled]) {
      if (ours.has(partition)) continue
      this.#watched.delete(partition)
      this.#heldBack.delete(partition)
      this.#stalled.delete(partition)
      this.#metrics.canary_age_seconds.remove({ partition })
    }
    for (const partition of ours)
      if (!this.#watched.has(partition)) this.#watched.set(partition, { takenAt: -Infinity, since: 0 })
  }

  /** @param {number} partition @param {Watched} state */
  async #send (partition, state) {
    const sentAt = Math.trunc(this.#clock.monotonic())
    state.unanswered ??= sentAt
    try {
      await this.#producer.send(canaryRecord({ echo: this.#echo.id, partition, sentAt }))
    } catch {
      return // Kafka or the partition is unavailable
    }
    state.takenAt = this.#clock.monotonic()
    if (state.missing !== undefined) return
    state.missing = sentAt
    state.since = this.#clock.monotonic()
  }

  /**
   * Marks the partition as wedged unless an open transaction holds back the records behind it, the canary too.
   * @param {number} partition
   * @param {Watched} state
   */
  async #suspect (partition, state) {
    const { since } = state
    const records = await this.#consumer.readable(partition)
    if (state.missing === undefined || state.since !== since || this.#watched.get(partition) !== state) return
    if (records === 0) {
      state.since = this.#clock.monotonic()
      if (!this.#heldBack.has(partition))
        this.#log.warn({ partition }, 'an open transaction holds back the records of a partition')
      this.#heldBack.add(partition)
    } else this.#stalled.add(partition)
  }

  async #look () {
    const now = this.#clock.monotonic()
    const redisAway = now - this.#echoedAt > this.#away
    /** @type {Promise<void>[]} */
    const suspects = []
    for (const [partition, state] of this.#watched) {
      if (state.unanswered !== undefined)
        this.#metrics.canary_age_seconds.set({ partition }, (now - state.unanswered) / 1000)
      if (state.missing === undefined) continue
      if (redisAway || now - state.takenAt > this.#away) {
        state.missing = undefined
        continue
      }
      if (now - state.since > this.#times.wedged) suspects.push(this.#suspect(partition, state))
    }
    if (suspects.length > 0) await Promise.all(suspects)
    if (this.#stalled.size === 0 || redisAway || now < this.#nextReplacementAt) return
    const wedged = [...this.#stalled].filter((partition) => this.#watched.get(partition)?.missing !== undefined)
    if (wedged.length === 0) return
    if (now - this.#nextReplacementAt > this.#times.maxBackoff) this.#waits.reset()
    this.#nextReplacementAt = now + this.#waits.next()
    const error = new Error(`the consumer is wedged: no record comes through partition ${wedged.join(', ')}`)
    this.#log.error(
      { partitions: wedged, nextTryInMs: Math.round(this.#nextReplacementAt - now) },
      'Kafka and Redis accept records, but the consumer delivers none: it is replaced'
    )
    for (const state of this.#watched.values()) state.missing = undefined
    this.#consumer.replace(error)
  }

  async #run () {
    while (!this.#stopping.signal.aborted) {
      this.#follow()
      await this.#look()
      this.#echo.send(this.#echo.id, 'there').catch(() => {}) // shows whether Redis delivers messages
      for (const [partition, state] of this.#watched) this.#send(partition, state)
      await this.#clock.sleep(this.#times.cycle, this.#stopping.signal).catch(() => {})
    }
  }

  start () {
    // it may have waited for Redis since it was made
    this.#echoedAt = this.#clock.monotonic()
    this.#echo.start((text) => this.#onEcho(text))
    this.#running ??= this.#run()
  }

  async stop () {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
    this.#echo.stop()
    await this.#producer.stop(0)
  }

  /** To be called when a canary was read and all records before it are done. @param {string} text */
  arrived (text) {
    const canary = readCanary(text)
    // a canary that Redis does not accept counts as missing
    if (canary !== undefined) this.#echo.send(canary.echo, canaryText(canary)).catch(() => {})
  }

  /** To be called for each record that is done: a slow partition is not wedged. @param {number} partition */
  progress (partition) {
    const state = this.#watched.get(partition)
    if (state !== undefined) state.since = this.#clock.monotonic()
  }

  /** @returns {string | undefined} problem, for /ready */
  problem () {
    if (this.#stalled.size > 0)
      return `no record comes through partition ${[...this.#stalled].join(', ')} of the downlink topic`
    const silent = this.#clock.monotonic() - this.#echoedAt
    return silent > this.#times.wedged
      ? `Redis has not delivered published messages for ${Math.round(silent / 1000)} s`
      : undefined
  }
}
