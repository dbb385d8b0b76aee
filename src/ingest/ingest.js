import { Consumer } from '../kafka/consumer.js'
import { Producer } from '../kafka/producer.js'
import { leaderEpochOf } from '../kafka/record.js'
import { ensureTopics } from '../kafka/topics.js'
import { isUnhealed } from '../log/bus/origin.js'
import { batchRead } from '../observe/metrics/points.js'
import { Healing } from './healing.js'
import { createLanes, forEachLimited } from './lanes.js'
import { Marks } from './marks.js'
import { PartitionReports } from './partition-reports.js'
import { ProducerMistakes } from './producer-mistakes.js'
import { Refusals } from './refusals.js'
import { hasNoLog, route, sourceOf } from './router.js'
import { Watchdog } from './watchdog.js'

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

/**
 * A batch on its way.
 * @typedef {import('../kafka/batch.js').ConsumedBatch & { source: string, done: Uint8Array }} Work source: name of the
 *   partition (`sourceOf`); done: 1 for each record that is done
 *
 * @typedef {object} Parts
 * @property {import('../kafka/contract.js').KafkaDriver} kafka
 * @property {Pick<import('../log/publish/publisher.js').Publisher, 'publishChecked' | 'refused' | 'passedOver'>}
 *   publisher
 * @property {import('./redis-echo.js').Echo} echo
 * @property {import('./marks.js').MarkStore & import('./healing.js').HealingStore} markStore
 * @property {import('../kafka/dead-letter.js').DeadLetter} deadLetter
 * @property {Pick<import('../config/load.js').Config, 'kafka' | 'limits'>} settings
 * @property {ConstructorParameters<typeof Watchdog>[0]['times']} [times] of the watchdog, for tests
 */

/**
 * Reads records from the downlink topic, checks each once, and publishes it on the bus. An offset counts as done when
 * the bus or the dead-letter topic has its record. After a crash in between the record is published again, and the bus
 * drops the duplicate.
 */
export class Ingest {
  #services
  #publisher
  #markStore
  #topic
  #maxBytes
  #framing
  #mistakes
  #refusals
  #reports
  #consumer
  #marks
  #healing
  #watchdog
  /** @type {Set<number>} partitions of this assignment with a warning about skipped records in the log */
  #warnedOfPassed = new Set()
  #topicId = ''
  /** @type {number | undefined} time of the first failure since the last successful publish */
  #busFailingSince

  /** @param {import('../observe/services.js').Services} services @param {Parts} parts */
  constructor (services, { kafka, publisher, echo, markStore, deadLetter, settings, times }) {
    const { log, metrics, clock, random } = this.#services = services
    const { topics, groupId, valueFraming } = settings.kafka
    this.#framing = valueFraming
    const topic = this.#topic = topics.downlink
    const maxBytes = this.#maxBytes = settings.limits.maxRecordBytes
    this.#publisher = publisher
    this.#markStore = markStore
    this.#mistakes = new ProducerMistakes({ log, clock })
    this.#refusals = new Refusals({ deadLetter, publisher, mistakes: this.#mistakes, log, metrics })
    const reports = this.#reports = new PartitionReports({ topic, metrics, clock })
    const consumer = this.#consumer = new Consumer({
      kafka,
      settings: { topic, groupId },
      reader: {
        // includes the gateways' topic: ingest alone creates topics, not a hundred gateways
        prepare: (signal) =>
          ensureTopics({
            kafka, topics: Object.values(topics), settings: settings.kafka, maxBytes, log, signal, clock, random
          }),
        handle: (batch, signal) => this.#handle(batch, signal),
        onAssigned: (partitions) => this.#onAssigned(partitions),
        onLag: (partition, records) => reports.lag(partition, records),
        lastReached: (id, partitions) => this.#lastReached(id, partitions),
        onLostEnd: (partition) => reports.lostEnd(partition),
        onFailure: () => metrics.kafka_consumer_restarts.inc()
      },
      log,
      clock,
      random
    })
    const store = {
      read: markStore.read,
      write: (/** @type {Parameters<typeof markStore.write>[0]} */ changed) => this.#writeMarks(changed)
    }
    const marks = this.#marks = new Marks({ store, clock, random, log })
    this.#healing = new Healing({ store: markStore, consumer, marks, clock, random, log })
    const producer = new Producer({ kafka, topic, log, clock, random, limits: { timeout: CANARY_TIMEOUT } })
    this.#watchdog = new Watchdog({ producer, echo, consumer, metrics, log, clock, times })
    metrics.onCollect(() => metrics.kafka_silence_seconds.set(consumer.status().silence / 1000))
  }

  /** @type {import('../kafka/batch.js').BatchHandler} */
  async #handle (batch, signal) {
    const { partition, messages } = batch
    const place = { topic: this.#topic, partition }
    const source = sourceOf({ ...place, topicId: batch.topicId })
    if (!(await this.#healing.ready(source, batch, signal))) return 0
    const generation = this.#healing.generation(source)
    await this.#marks.ready(source, signal)
    // a spread would cost a microsecond for each record
    for (const { headers, offset } of messages) this.#mistakes.look(headers, { topic: this.#topic, partition, offset })
    const { lanes, refused, canaries, passed } = route(messages, {
      source,
      healed: generation,
      maxBytes: this.#maxBytes,
      framing: this.#framing,
      random: this.#services.random,
      passesOver: (origin, timestamp) => this.#marks.passesOver(origin, timestamp)
    })
    if (batchRead.hasSubscribers) batchRead.publish({ by: this.#services.metrics, lanes, ...place })
    const work = { ...batch, source, done: new Uint8Array(messages.length) }
    this.#passOver(work, passed)
    // wait for both even if one fails: no call of this batch may be in progress after its end
    const results = await Promise.allSettled([
      this.#lanesOf(work, signal)([...lanes.values()], signal),
      forEachLimited(refused, LETTERS_AT_ONCE, signal, ({ index, error }) => this.#refuse(work, index, error, signal))
    ])
    // earlier records have to be read again first, and then these
    if (results.some((result) => result.status === 'rejected' && isUnhealed(result.reason))) {
      this.#marks.carriedOutAhead(source, carriedOut(lanes, work.done))
      return 0
    }
    for (const result of results) if (result.status === 'rejected') throw result.reason

    // canaries come last, so that none is reported while a record of the batch is not done
    for (const { index } of canaries) work.done[index] = 1
    const undone = work.done.indexOf(0)
    const count = undone === -1 ? messages.length : undone
    for (const { index, text } of canaries) if (index < count) this.#watchdog.arrived(text)
    if (count > 0) await this.#finish(work, count, generation)
    return count
  }

  /** @param {Work} work @param {import('./router.js').Routed[]} passed */
  #passOver ({ partition, messages, done }, passed) {
    if (passed.length === 0) return
    for (const { index, entry } of passed) {
      done[index] = 1
      this.#publisher.passedOver(entry.publication)
    }
    this.#services.log[this.#warnedOfPassed.has(partition) ? 'debug' : 'warn'](
      { topic: this.#topic, partition, records: passed.length, first: messages[passed[0].index].offset },
      'records without a log were carried out before, or may have been: they are skipped'
    )
    this.#warnedOfPassed.add(partition)
  }

  /** @param {Work} work @param {AbortSignal} signal */
  #lanesOf (work, signal) {
    const { clock, random } = this.#services
    return createLanes({
      publish: this.#publisher.publishChecked,
      clock,
      refuse: async ({ index, stage }, error) => {
        await this.#refuse(work, index, error, signal)
        stage?.fail(error)
      },
      onRetry: (error) => this.#onRetry(work, error),
      onPublished: ({ index, stage }, { position, duplicate }) => {
        work.done[index] = 1
        stage?.end({ ...position, duplicate })
        this.#watchdog.progress(work.partition)
        if (this.#busFailingSince !== undefined) this.#busWorks(this.#busFailingSince)
      },
      random
    })
  }

  /** @param {Work} work @param {unknown} error */
  #onRetry ({ source, partition }, error) {
    if (isUnhealed(error)) {
      this.#healing.suspect(source)
      throw error
    }
    const { log, metrics, clock } = this.#services
    metrics.bus_errors.inc({ operation: 'publish' })
    if (this.#busFailingSince === undefined)
      log.warn({ err: error, topic: this.#topic, partition }, 'the bus does not accept records; retrying')
    this.#busFailingSince ??= clock.monotonic()
  }

  /** @param {number} since it has failed */
  #busWorks (since) {
    const { log, clock } = this.#services
    log.info({ failedForMs: clock.monotonic() - since }, 'the bus accepts records again')
    this.#busFailingSince = undefined
  }

  /**
   * @param {Work} work
   * @param {number} index
   * @param {import('../base/common/errors.js').InkcastError} error
   * @param {AbortSignal} signal
   */
  async #refuse ({ partition, messages, done }, index, error, signal) {
    await this.#refusals.refuse({ topic: this.#topic, partition, message: messages[index] }, error, signal)
    done[index] = 1
    this.#watchdog.progress(partition)
  }

  /** @param {Work} work @param {number} count of leading records that are done @param {string} generation */
  async #finish ({ source, partition, messages, end, highWatermark }, count, generation) {
    const last = messages[count - 1]
    const sequence = Number(last.offset)
    this.#marks.done(
      { source, sequence, epoch: leaderEpochOf(last) },
      { timestamp: Number(last.timestamp), last: sequence >= highWatermark - 1, generation }
    )
    await this.#healing.done(source, count === messages.length ? end : sequence + 1)
    this.#reports.done(partition, last, highWatermark)
  }

  /** @type {import('./marks.js').MarkStore['write']} */
  async #writeMarks (changed) {
    const stored = await this.#markStore.write(changed)
    stored.forEach((count, i) => {
      if (count === 0) this.#healing.suspect(changed[i][0])
    })
    return stored
  }

  /** @param {number} partition */
  #sourceOf (partition) { return sourceOf({ topic: this.#topic, topicId: this.#topicId, partition }) }

  /** @type {import('../kafka/batch.js').LastReached} */
  async #lastReached (id, partitions) {
    this.#topicId = id
    /** @type {Map<number, import('../kafka/batch.js').Reached>} */
    const places = new Map()
    try {
      const found = await this.#marks.read(partitions.map((partition) => this.#sourceOf(partition)))
      found.forEach((at, i) => {
        if (at !== undefined) places.set(partitions[i], { next: at.sequence + 1, epoch: at.epoch })
      })
    } catch (error) {
      this.#services.log.debug({ err: error, topic: this.#topic }, 'the marks of partitions are unknown at the moment')
    }
    return places
  }

  /** @param {number[]} partitions */
  #onAssigned (partitions) {
    const ours = new Set(partitions.map((partition) => this.#sourceOf(partition)))
    this.#marks.keep((source) => ours.has(source))
    // includes partitions that are still assigned: another member may have had them in between
    this.#healing.suspect()
    this.#warnedOfPassed.clear()
    this.#reports.assigned(partitions)
  }

  /** Resolves at once; `status` reports when it has joined its group. */
  async start () {
    await this.#consumer.start()
    this.#watchdog.start()
  }

  /** Finishes batches in progress (within some seconds), commits, and leaves the group. */
  async stop () {
    await Promise.all([this.#watchdog.stop(), this.#consumer.stop()])
    await this.#marks.stop()
  }

  /** To be called when Redis was unavailable: it may have lost records. */
  suspect () { this.#healing.suspect() }

  /** @returns {string[]} warnings of /ready; they do not make it fail */
  warnings () { return this.#reports.warnings() }

  /** @returns {IngestStatus} for /ready */
  status () {
    const status = this.#consumer.status()
    const since = this.#busFailingSince
    const busFailingFor = since === undefined ? 0 : this.#services.clock.monotonic() - since
    const stalled = this.#watchdog.problem()
    const reason =
      status.reason ??
      stalled ??
      (busFailingFor > BUS_FAILING ? `the bus has accepted no records for ${Math.round(busFailingFor / 1000)} s` : undefined)
    return { ...status, ready: reason === undefined, reason, busFailingFor, stalled }
  }
}

/**
 * @param {Map<string, import('./router.js').Routed[]>} lanes
 * @param {Uint8Array} done see Work
 * @returns {import('../log/bus/origin.js').Origin[]} of records without a log, but for those that Redis keeps for
 *   users: the failover may have lost them
 */
const carriedOut = (lanes, done) => [...lanes.values()].flat()
  .filter(({ index, entry: { publication } }) => done[index] === 1 && hasNoLog(publication) && !isKept(publication))
  .flatMap(({ entry: { origin } }) => origin ?? [])

/** @param {import('../wire/publication.js').Publication} publication a kick without a ban is over */
const isKept = ({ operator, ttl }) =>
  operator === 'revoke' || operator === 'restore' || (operator === 'kick' && ttl !== undefined)
