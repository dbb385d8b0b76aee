import { Backoff } from '../base/common/backoff.js'
import { canaryRecord, canaryText, readCanary } from './canary.js'

/** ms; docs/decisions/0015-stall-watchdog.md */
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
 * Sends a canary through each assigned partition and waits for it to come back through pub/sub. A consumer that
 * delivers neither canaries nor records while Kafka and Redis accept them is wedged: readiness fails, and the consumer
 * is replaced. While Kafka or Redis is unavailable, missing canaries do not count.
 *
 * @param {object} dependencies
 * @param {Pick<import('../kafka/producer.js').Producer, 'stop' | 'send'>} dependencies.producer of the downlink topic
 * @param {import('./redis-echo.js').Echo} dependencies.echo
 * @param {() => number[]} dependencies.partitions assigned partitions, none during a rebalance
 * @param {(error: Error) => void} dependencies.replace replaces the consumer
 * @param {(partition: number) => Promise<number | undefined>} dependencies.readable number of its records that
 *   the consumer could read and has not; undefined: unknown. Never rejects, and takes no longer than a cycle
 * @param {Pick<import('../observe/metrics/metrics.js').Metrics, 'canary_age_seconds'>} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {Partial<typeof TIMES>} [dependencies.times] for tests
 */
export function createWatchdog ({ producer, echo, partitions, replace, readable, metrics, log, clock, times }) {
  const { cycle, wedged: wedgedAfter, backoff, maxBackoff } = { ...TIMES, ...times }
  // a service without a response for longer is unavailable, and canaries missing then are not the consumer's fault
  const away = 1.5 * cycle
  /**
   * @typedef {object} Watched
   * @property {number} takenAt time when Kafka last accepted a canary
   * @property {number} [missing] send time of the oldest accepted canary that is not back
   * @property {number} since time when it was accepted, or when another record of its partition came through
   * @property {number} [unanswered] send time of the oldest canary that is not back, also of one that Kafka did not
   *   accept; for the metric alone
   */
  /** @type {Map<number, Watched>} assigned partitions */
  const watched = new Map()
  /** @type {Set<number>} wedged partitions, until a canary is back */
  const stalled = new Set()
  /** @type {Set<number>} partitions behind an open transaction, until a canary is back */
  const heldBack = new Set()
  const stopping = new AbortController()
  const waits = new Backoff({ min: backoff, max: maxBackoff, random: { number: () => 1 } })
  let echoedAt = clock.monotonic()
  let nextReplacementAt = -Infinity
  /** @type {Promise<void> | undefined} */
  let running

  /** @param {string} text */
  function onEcho (text) {
    echoedAt = clock.monotonic()
    const canary = readCanary(text)
    const state = canary === undefined ? undefined : watched.get(canary.partition)
    if (canary === undefined || state === undefined) return
    const { partition } = canary
    metrics.canary_age_seconds.set({ partition }, Math.max(0, clock.monotonic() - canary.sentAt) / 1000)
    if (state.missing !== undefined && canary.sentAt >= state.missing) state.missing = undefined
    if (state.unanswered !== undefined && canary.sentAt >= state.unanswered) state.unanswered = undefined
    heldBack.delete(canary.partition)
    if (stalled.delete(canary.partition)) log.info({ partition: canary.partition }, 'records come through again')
  }

  /** Follows the assignment. */
  function follow () {
    const ours = new Set(partitions())
    for (const partition of [...watched.keys(), ...stalled]) {
      if (ours.has(partition)) continue
      watched.delete(partition)
      heldBack.delete(partition)
      stalled.delete(partition)
      metrics.canary_age_seconds.remove({ partition })
    }
    for (const partition of ours) if (!watched.has(partition)) watched.set(partition, { takenAt: -Infinity, since: 0 })
  }

  /** @param {number} partition @param {Watched} state */
  async function send (partition, state) {
    const sentAt = Math.trunc(clock.monotonic())
    state.unanswered ??= sentAt
    try {
      await producer.send(canaryRecord({ echo: echo.id, partition, sentAt }))
    } catch {
      return // Kafka or the partition is unavailable
    }
    state.takenAt = clock.monotonic()
    if (state.missing !== undefined) return
    state.missing = sentAt
    state.since = clock.monotonic()
  }

  /**
   * Marks the partition as wedged unless an open transaction holds back the records behind it, the canary too.
   * @param {number} partition
   * @param {Watched} state
   */
  async function suspect (partition, state) {
    const { since } = state
    const records = await readable(partition)
    if (state.missing === undefined || state.since !== since || watched.get(partition) !== state) return
    if (records === 0) {
      state.since = clock.monotonic()
      if (!heldBack.has(partition)) log.warn({ partition }, 'an open transaction holds back the records of a partition')
      heldBack.add(partition)
    } else stalled.add(partition)
  }

  async function look () {
    const now = clock.monotonic()
    const redisAway = now - echoedAt > away
    /** @type {Promise<void>[]} */
    const suspects = []
    for (const [partition, state] of watched) {
      if (state.unanswered !== undefined)
        metrics.canary_age_seconds.set({ partition }, (now - state.unanswered) / 1000)
      if (state.missing === undefined) continue
      if (redisAway || now - state.takenAt > away) {
        state.missing = undefined
        continue
      }
      if (now - state.since > wedgedAfter) suspects.push(suspect(partition, state))
    }
    if (suspects.length > 0) await Promise.all(suspects)
    if (stalled.size === 0 || redisAway || now < nextReplacementAt) return
    const wedged = [...stalled].filter((partition) => watched.get(partition)?.missing !== undefined)
    if (wedged.length === 0) return
    if (now - nextReplacementAt > maxBackoff) waits.reset()
    nextReplacementAt = now + waits.next()
    const error = new Error(`the consumer is wedged: no record comes through partition ${wedged.join(', ')}`)
    log.error(
      { partitions: wedged, nextTryInMs: Math.round(nextReplacementAt - now) },
      'Kafka and Redis accept records, but the consumer delivers none: it is replaced'
    )
    for (const state of watched.values()) state.missing = undefined
    replace(error)
  }

  async function run () {
    while (!stopping.signal.aborted) {
      follow()
      await look()
      echo.send(echo.id, 'there').catch(() => {}) // shows whether Redis delivers messages
      for (const [partition, state] of watched) send(partition, state)
      await clock.sleep(cycle, stopping.signal).catch(() => {})
    }
  }

  return {
    start () {
      echo.start(onEcho)
      running ??= run()
    },

    async stop () {
      stopping.abort(new Error('stopped'))
      await running
      echo.stop()
      await producer.stop(0)
    },

    /** To be called when a canary was read and all records before it are done. @param {string} text */
    arrived (text) {
      const canary = readCanary(text)
      // a canary that Redis does not accept counts as missing
      if (canary !== undefined) echo.send(canary.echo, canaryText(canary)).catch(() => {})
    },

    /** To be called for each record that is done: a slow partition is not wedged. @param {number} partition */
    progress (partition) {
      const state = watched.get(partition)
      if (state !== undefined) state.since = clock.monotonic()
    },

    /** @returns {string | undefined} problem, for /ready */
    problem () {
      if (stalled.size > 0) return `no record comes through partition ${[...stalled].join(', ')} of the downlink topic`
      const silent = clock.monotonic() - echoedAt
      return silent > wedgedAfter
        ? `Redis has not delivered published messages for ${Math.round(silent / 1000)} s`
        : undefined
    }
  }
}
