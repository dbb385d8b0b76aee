import { createConsumer } from '../kafka/consumer.js'
import { Producer } from '../kafka/producer.js'
import { ensureTopics } from '../kafka/topics.js'
import { isUnhealed } from '../log/bus/origin.js'
import { batchRead, happened } from '../observe/metrics/points.js'
import { headersOf, leaderEpochOf } from '../kafka/record.js'
import { HEADER, headerText } from '../wire/headers.js'
import { createHealing } from './healing.js'
import { createLanes } from './lanes.js'
import { forEachLimited } from './limited.js'
import { createMarks } from './marks.js'
import { ProducerMistakes } from './producer-mistakes.js'
import { route, sourceOf } from './router.js'
import { createWatchdog } from './watchdog.js'

/** The bus is reported as failing after this time without a successful publish, ms. */
const BUS_FAILING = 10_000

/**
 * @typedef {import('../kafka/consumer.js').ConsumerStatus & { busFailingFor: number, stalled?: string }} IngestStatus
 *   stalled: problem found by the watchdog
 */

/** Timeout of a canary's acknowledgement by Kafka, ms. */
const CANARY_TIMEOUT = 4000
/** Dead letters of one batch that are sent at the same time; well below the producer's limit. */
const LETTERS_AT_ONCE = 200

/** Time for which `/ready` reports a partition that has lost its end, ms. */
const TELL_LOST_END = 3_600_000

/**
 * @typedef {'kafka_lost_ends' | 'kafka_lag' |
 *   'kafka_record_age_seconds' | 'kafka_consumer_restarts' | 'bus_errors' | 'canary_age_seconds' |
 *   'kafka_silence_seconds' | 'onCollect'} MetricNames
 */

/**
 * Reads records from the downlink topic, checks each once, and publishes it on the bus. An offset counts as done when
 * the bus or the dead-letter topic has its record. After a crash in between the record is published again, and the bus
 * drops the duplicate.
 *
 * @param {object} dependencies
 * @param {import('../kafka/contract.js').KafkaDriver} dependencies.kafka
 * @param {Pick<import('../log/publish/publisher.js').Publisher, 'publishChecked' | 'refused' | 'passedOver'>}
 *   dependencies.publisher
 * @param {import('./redis-echo.js').Echo} dependencies.echo
 * @param {import('./marks.js').MarkStore & import('./healing.js').HealingStore} dependencies.markStore
 * @param {import('../kafka/dead-letter.js').DeadLetter} dependencies.deadLetter
 * @param {Pick<import('../config/load.js').Config, 'kafka' | 'limits'>} dependencies.settings
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../observe/metrics/metrics.js').Metrics, MetricNames>} dependencies.metrics
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @param {Parameters<typeof createWatchdog>[0]['times']} [dependencies.times] of the watchdog, for tests
 */
export function createIngest ({
  kafka, publisher, echo, markStore, deadLetter, settings, log, metrics, clock, random, times
}) {
  const { topics, groupId } = settings.kafka
  const topic = topics.downlink
  const maxBytes = settings.limits.maxRecordBytes
  const marks = createMarks({ store: { read: markStore.read, write: writeMarks }, clock, random, log })
  const healing = createHealing({
    store: markStore,
    ends: (partition) => consumer.ends(partition),
    committed: (partition) => consumer.committed(partition),
    rewind: (partition, next, committed) => consumer.rewind(partition, next, committed),
    carriedOut: marks.carriedOut,
    clock,
    random,
    log
  })
  /**
   * @type {Map<number, { at: string, noticed: number }>} partitions that have lost their end; noticed: monotonic time
   */
  const lostEnds = new Map()
  const mistakes = new ProducerMistakes({ log, clock })
  /** @type {Set<number>} partitions of this assignment with a warning about skipped records in the log */
  const warnedOfPassed = new Set()
  let topicId = ''
  /** @type {Set<number>} partitions with a value in the metrics */
  const seen = new Set()
  /** @type {number | undefined} time of the first failure since the last successful publish */
  let busFailingSince

  const consumer = createConsumer({
    kafka,
    settings: { topic, groupId },
    // includes the gateways' topic: ingest alone creates topics, not a hundred gateways
    prepare: (signal) =>
      ensureTopics({
        kafka,
        topics: Object.values(topics),
        settings: settings.kafka,
        maxBytes, log, signal, clock, random
      }),
    handle,
    onAssigned,
    onLag: (partition, records) => {
      seen.add(partition)
      metrics.kafka_lag.set({ partition }, records)
    },
    lastReached,
    onLostEnd: (partition) => {
      lostEnds.set(partition, { at: new Date(clock.now()).toISOString(), noticed: clock.monotonic() })
      metrics.kafka_lost_ends.inc({ partition })
    },
    onFailure: () => metrics.kafka_consumer_restarts.inc(),
    log,
    clock,
    random
  })

  metrics.onCollect(() => metrics.kafka_silence_seconds.set(consumer.status().silence / 1000))

  const watchdog = createWatchdog({
    producer: new Producer({ kafka, topic, log, clock, random, limits: { timeout: CANARY_TIMEOUT } }),
    echo,
    partitions: () => {
      const { joined, partitions } = consumer.status()
      return joined ? partitions : []
    },
    replace: consumer.replace,
    readable: consumer.readable,
    metrics,
    log,
    clock,
    times
  })

  /**
   * @param {import('../kafka/batch.js').ConsumedBatch} batch
   * @param {AbortSignal} signal
   * @returns {Promise<number>}
   */
  async function handle (batch, signal) {
    const { partition, topicId, messages, highWatermark, end } = batch
    const source = sourceOf({ topic, topicId, partition })
    if (!(await healing.ready(source, batch, signal))) return 0
    const generation = healing.generation(source)
    await marks.ready(source, signal)
    for (const { headers, offset } of messages) mistakes.look(headers, { topic, partition, offset })
    const { lanes, refused, canaries, passed } = route(messages, {
      source,
      healed: generation,
      maxBytes,
      random,
      passesOver: marks.passesOver
    })
    if (batchRead.hasSubscribers) batchRead.publish({ by: metrics, lanes, topic, partition })
    const done = new Uint8Array(messages.length)
    for (const { index, entry } of passed) {
      done[index] = 1
      publisher.passedOver(entry.publication)
    }
    if (passed.length > 0)
      log[warnedOfPassed.has(partition) ? 'debug' : 'warn'](
        { topic, partition, records: passed.length, first: messages[passed[0].index].offset },
        'records without a log were carried out before, or may have been: they are skipped'
      )
    if (passed.length > 0) warnedOfPassed.add(partition)

    /** @param {number} index @param {import('../base/common/errors.js').InkcastError} error */
    const refuse = async (index, error) => {
      if (error.cause !== undefined)
        log.error(
          { err: error.cause, topic, partition, offset: messages[index].offset },
          `${error.message}: the record goes to the dead-letter topic`
        )
      else mistakes.refused(error, { topic, partition, offset: messages[index].offset })
      await deadLetter.send(
        { topic, partition, message: messages[index], reason: error.code, detail: error.message },
        signal
      )
      publisher.refused(String(messages[index].headers?.[HEADER.operator]), error)
      if (happened.hasSubscribers) tellDeadLetter(partition, messages[index], error)
      done[index] = 1
      watchdog.progress(partition)
    }
    const runLanes = createLanes({
      publish: publisher.publishChecked,
      clock,
      refuse: async ({ index, stage }, error) => {
        await refuse(index, error)
        stage?.fail(error)
      },
      onRetry: (error) => {
        if (isUnhealed(error)) {
          healing.suspect(source)
          throw error
        }
        metrics.bus_errors.inc({ operation: 'publish' })
        if (busFailingSince === undefined)
          log.warn({ err: error, topic, partition }, 'the bus does not accept records; retrying')
        busFailingSince ??= clock.monotonic()
      },
      onPublished: ({ index, stage }, { position, duplicate }) => {
        done[index] = 1
        stage?.end({ ...position, duplicate })
        watchdog.progress(partition)
        if (busFailingSince !== undefined) {
          log.info({ failedForMs: clock.monotonic() - busFailingSince }, 'the bus accepts records again')
          busFailingSince = undefined
        }
      },
      random
    })
    // wait for both even if one fails: no call of this batch may be in progress after its end
    const results = await Promise.allSettled([
      runLanes([...lanes.values()], signal),
      forEachLimited(refused, LETTERS_AT_ONCE, signal, ({ index, error }) => refuse(index, error))
    ])
    // earlier records have to be read again first
    if (results.some((result) => result.status === 'rejected' && isUnhealed(result.reason))) return 0
    for (const result of results) if (result.status === 'rejected') throw result.reason

    // canaries come last, so that none is reported while a record of the batch is not done
    for (const { index } of canaries) done[index] = 1
    const undone = done.indexOf(0)
    const count = undone === -1 ? messages.length : undone
    for (const { index, text } of canaries) if (index < count) watchdog.arrived(text)
    if (count > 0) {
      const last = messages[count - 1]
      const sequence = Number(last.offset)
      marks.done(
        { source, sequence, epoch: leaderEpochOf(last) },
        { timestamp: Number(last.timestamp), last: sequence >= highWatermark - 1, generation }
      )
      await healing.done(source, count === messages.length ? end : sequence + 1)
      report(partition, last, highWatermark)
    }
    return count
  }

  /**
   * @param {number} partition
   * @param {import('../kafka/contract.js').KafkaRecord} message
   * @param {import('../base/common/errors.js').InkcastError} error
   */
  function tellDeadLetter (partition, message, { code }) {
    const headers = headersOf(message)
    const get = (/** @type {string} */ name) => {
      try {
        return headerText(headers, name)
      } catch {
        return undefined
      }
    }
    const subject = { guid: get(HEADER.guid), uid: get(HEADER.uid), traceId: get(HEADER.traceId) }
    const details = { topic, partition, offset: Number(message.offset) }
    happened.publish({ by: metrics, hop: 'dead_letter', event: { ...subject, reason: code, details } })
  }

  /** @type {import('./marks.js').MarkStore['write']} */
  async function writeMarks (changed) {
    const stored = await markStore.write(changed)
    stored.forEach((count, i) => {
      if (count === 0) healing.suspect(changed[i][0])
    })
    return stored
  }

  /** @type {import('../kafka/batch.js').LastReached} */
  async function lastReached (id, partitions) {
    topicId = id
    /** @type {Map<number, import('../kafka/batch.js').Reached>} */
    const places = new Map()
    try {
      const found = await marks.read(partitions.map((partition) => sourceOf({ topic, topicId, partition })))
      found.forEach((at, i) => {
        if (at !== undefined) places.set(partitions[i], { next: at.sequence + 1, epoch: at.epoch })
      })
    } catch (error) {
      log.debug({ err: error, topic }, 'the marks of partitions are unknown at the moment')
    }
    return places
  }

  /**
   * @param {number} partition
   * @param {import('../kafka/contract.js').KafkaRecord} last
   * @param {number} highWatermark
   */
  function report (partition, last, highWatermark) {
    seen.add(partition)
    metrics.kafka_lag.set({ partition }, Math.max(0, highWatermark - Number(last.offset) - 1))
    metrics.kafka_record_age_seconds.set({ partition }, Math.max(0, clock.now() - Number(last.timestamp)) / 1000)
  }

  /**
   * Begins the count of lost ends at 0, so that an alert sees the first one as an increase, and drops the metrics of
   * partitions that were reassigned: another member reports them.
   * @param {number[]} partitions
   */
  function onAssigned (partitions) {
    const ours = new Set(partitions.map((partition) => sourceOf({ topic, topicId, partition })))
    marks.keep((source) => ours.has(source))
    // includes partitions that are still assigned: another member may have had them in between
    healing.suspect()
    warnedOfPassed.clear()
    for (const partition of seen) {
      if (partitions.includes(partition)) continue
      seen.delete(partition)
      metrics.kafka_lag.remove({ partition })
      metrics.kafka_record_age_seconds.remove({ partition })
      if (!lostEnds.has(partition)) metrics.kafka_lost_ends.remove({ partition })
    }
    for (const partition of partitions) {
      seen.add(partition)
      metrics.kafka_lost_ends.inc({ partition }, 0)
    }
  }

  return {
    /** Resolves at once; `status` reports when it has joined its group. */
    async start () {
      await consumer.start()
      watchdog.start()
    },

    /** Finishes batches in progress (within some seconds), commits, and leaves the group. */
    stop: async () => {
      await Promise.all([watchdog.stop(), consumer.stop()])
      await marks.stop()
    },

    /** To be called when Redis was unavailable: it may have lost records. */
    suspect: () => healing.suspect(),

    /** @returns {string[]} warnings of /ready; they do not make it fail */
    warnings () {
      const now = clock.monotonic()
      for (const [partition, { noticed }] of lostEnds) if (now - noticed > TELL_LOST_END) lostEnds.delete(partition)
      return [...lostEnds].map(
        ([partition, { at }]) =>
          `partition ${partition} of ${topic} lost records that were already read (noticed at ${at})`
      )
    },

    /** @returns {IngestStatus} for /ready */
    status () {
      const status = consumer.status()
      const busFailingFor = busFailingSince === undefined ? 0 : clock.monotonic() - busFailingSince
      const stalled = watchdog.problem()
      const reason =
        status.reason ??
        stalled ??
        (busFailingFor > BUS_FAILING ? `the bus has accepted no records for ${Math.round(busFailingFor / 1000)} s` : undefined)
      return { ...status, ready: reason === undefined, reason, busFailingFor, stalled }
    }
  }
}
