import { Backoff } from '../common/backoff.js'
import { canaryRecord, canaryText, readCanary } from './canary.js'

/** ms; docs/decisions/0015-stall-watchdog.md */
const TIMES = {
  /** A canary for each partition so often. */
  cycle: 5000,
  /**
   * So long after Kafka has a canary, with Kafka and Redis there and nothing else coming through, its partition is
   * wedged.
   */
  wedged: 15_000,
  /** A new consumer is given this long before it may be replaced as well; doubles each time. */
  patience: 30_000,
  maxPatience: 600_000
}

/**
 * Sends a canary through each partition that is ours and waits for it to come back through pub/sub. A consumer that
 * neither brings canaries nor anything else while Kafka takes and Redis passes on what it is given is wedged: readiness
 * fails, and it is replaced. While Kafka or Redis is away nothing is counted.
 *
 * @param {object} dependencies
 * @param {Pick<ReturnType<typeof import('../kafka/producer.js').createProducer>, 'start' | 'stop' | 'send'>}
 *   dependencies.producer of the downlink topic
 * @param {import('./redis-echo.js').Echo} dependencies.echo
 * @param {() => number[]} dependencies.partitions those that are ours now, none while the group changes
 * @param {(error: Error) => void} dependencies.replace called with what is wrong with the consumer
 * @param {(partition: number) => Promise<number | undefined>} dependencies.readable how many of its records the
 *   consumer could read and has not; undefined: not known. Never rejects, and takes no longer than a cycle
 * @param {Pick<import('../metrics/metrics.js').Metrics, 'canary_age_milliseconds'>} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {Partial<typeof TIMES>} [dependencies.times] for tests
 */
export function createWatchdog ({ producer, echo, partitions, replace, readable, metrics, log, clock, times }) {
  const { cycle, wedged: wedgedAfter, patience, maxPatience } = { ...TIMES, ...times }
  // what did not answer the last time is away, and what is missing then is no fault of the consumer
  const away = 1.5 * cycle
  /**
   * @typedef {object} Watched
   * @property {number} takenAt when Kafka last took a canary
   * @property {number} [missing] sent then, the oldest canary that Kafka has and that is not back
   * @property {number} since when it began to be missing, or something else of its partition came through
   */
  /** @type {Map<number, Watched>} partitions that are ours */
  const watched = new Map()
  /** @type {Set<number>} partitions that were found to be wedged, until a canary is back */
  const stalled = new Set()
  /** @type {Set<number>} partitions that wait for a transaction to end, until a canary is back */
  const heldBack = new Set()
  const stopping = new AbortController()
  const waits = new Backoff({ min: patience, max: maxPatience, random: () => 1 })
  let echoedAt = clock.monotonic()
  let patientUntil = -Infinity
  /** @type {Promise<void> | undefined} */
  let running

  /** @param {string} text */
  function onEcho (text) {
    echoedAt = clock.monotonic()
    const canary = readCanary(text)
    const state = canary === undefined ? undefined : watched.get(canary.partition)
    if (canary === undefined || state === undefined) return
    metrics.canary_age_milliseconds.set({ partition: canary.partition }, Math.max(0, clock.monotonic() - canary.sentAt))
    if (state.missing !== undefined && canary.sentAt >= state.missing) state.missing = undefined
    heldBack.delete(canary.partition)
    if (stalled.delete(canary.partition)) log.info({ partition: canary.partition }, 'records come through again')
  }

  /** Counts begin with what is ours, and end with it. */
  function follow () {
    const ours = new Set(partitions())
    for (const partition of [...watched.keys(), ...stalled]) {
      if (ours.has(partition)) continue
      watched.delete(partition)
      heldBack.delete(partition)
      stalled.delete(partition)
      metrics.canary_age_milliseconds.remove({ partition })
    }
    for (const partition of ours) if (!watched.has(partition)) watched.set(partition, { takenAt: -Infinity, since: 0 })
  }

  /** @param {number} partition @param {Watched} state */
  async function send (partition, state) {
    const sentAt = Math.trunc(clock.monotonic())
    try {
      await producer.send(canaryRecord({ echo: echo.id, partition, sentAt }))
    } catch {
      return // Kafka is away, or that partition
    }
    state.takenAt = clock.monotonic()
    if (state.missing !== undefined) return
    state.missing = sentAt
    state.since = clock.monotonic()
  }

  /**
   * An open transaction holds back all that is behind it, the canary as well, from whoever reads committed records: the
   * consumer has all that it can get.
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
      if (state.missing === undefined) continue
      if (redisAway || now - state.takenAt > away) {
        state.missing = undefined
        continue
      }
      metrics.canary_age_milliseconds.set({ partition }, now - state.missing)
      if (now - state.since > wedgedAfter) suspects.push(suspect(partition, state))
    }
    if (suspects.length > 0) await Promise.all(suspects)
    if (stalled.size === 0 || redisAway || now < patientUntil) return
    const wedged = [...stalled].filter((partition) => watched.get(partition)?.missing !== undefined)
    if (wedged.length === 0) return
    if (now - patientUntil > maxPatience) waits.reset()
    patientUntil = now + waits.next()
    const error = new Error(`the consumer is wedged: nothing comes through partition ${wedged.join(', ')}`)
    log.error(
      { partitions: wedged, nextTryInMs: Math.round(patientUntil - now) },
      'Kafka takes records and Redis passes them on, the consumer between them brings none: it is replaced'
    )
    for (const state of watched.values()) state.missing = undefined
    replace(error)
  }

  async function run () {
    while (!stopping.signal.aborted) {
      follow()
      await look()
      echo.send(echo.id, 'there').catch(() => {}) // shows whether Redis passes on what it is given
      for (const [partition, state] of watched) send(partition, state)
      await clock.sleep(cycle, stopping.signal).catch(() => {})
    }
  }

  return {
    async start () {
      echo.start(onEcho)
      await producer.start()
      running ??= run()
    },

    async stop () {
      stopping.abort(new Error('stopped'))
      await running
      echo.stop()
      await producer.stop(0)
    },

    /** A canary came out of the consumer, and everything before it is done. @param {string} text */
    arrived (text) {
      const canary = readCanary(text)
      // one that Redis does not take is missed
      if (canary !== undefined) echo.send(canary.echo, canaryText(canary)).catch(() => {})
    },

    /** Something was done: what is slow is not wedged. @param {number} partition */
    progress (partition) {
      const state = watched.get(partition)
      if (state !== undefined) state.since = clock.monotonic()
    },

    /** @returns {string | undefined} what does not get through, for /ready */
    problem () {
      if (stalled.size > 0) return `nothing comes through partition ${[...stalled].join(', ')} of the downlink topic`
      const silent = clock.monotonic() - echoedAt
      return silent > wedgedAfter
        ? `what is published does not come back from Redis for ${Math.round(silent / 1000)} s`
        : undefined
    }
  }
}
