import { setMaxListeners } from 'node:events'
import { closeQuietly } from './close.js'
import { createCommits } from './commits.js'
import { createLagMonitor } from './lag.js'

/**
 * One life of a consumer, from its connection until it fails or is stopped.
 *
 * @typedef {object} Session
 * @property {(signal: AbortSignal) => Promise<void>} run until the signal aborts; rejects when the consumer fails
 * @property {() => { joined: boolean, partitions: number[], pollAge: number, reason: string | undefined }} status
 */

/** A dead member's partitions stand still this long, ms. The brokers' own lower limit is 6 s by default. */
const SESSION_TIMEOUT = 10_000
/** How soon a member notices that another one joins or leaves, ms. The group stands still meanwhile. */
const HEARTBEAT_INTERVAL = 1000
/** How long a broker holds a request while there is nothing, ms. Records end it at once, so it costs no latency; stopping waits for it. */
const MAX_WAIT = 500
/** Partitions that are processed at the same time. */
const CONCURRENCY = 8
/** What one answer of a broker holds, bytes; a batch that is larger comes alone. */
const FETCH_BYTES = 8 * 2 ** 20
const FETCH_BYTES_PER_PARTITION = 2 ** 20

/** So long without an answer, while nothing is in progress, and Kafka is taken to be away, ms. */
const SILENCE = 5000
/** So long, and it may as well be the consumer. */
const LONG_SILENCE = 75_000
/** A batch that takes longer than this is reported, ms. */
const SLOW_BATCH = 15_000
/** How long batches in progress may take when it is stopped, ms. */
const STOP_GRACE = 3000
const COMMIT_TIMEOUT = 2000
const CLOSE_TIMEOUT = 3000

/**
 * @param {object} dependencies
 * @param {import('kafkajs').Kafka} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {import('./consumer.js').BatchHandler} dependencies.handle
 * @param {(partitions: number[]) => void} [dependencies.onAssigned]
 * @param {() => void} dependencies.onJoined
 * @param {(partition: number, records: number) => void} [dependencies.onLag]
 * @param {(where: string) => boolean} dependencies.onStuck whether a new consumer is worth a try
 * @param {import('../log.js').Log} dependencies.log
 * @param {import('../clock.js').Clock} dependencies.clock
 * @returns {Session}
 */
export function createSession ({ kafka, settings: { topic, groupId }, handle, onAssigned, onJoined, onLag, onStuck, log, clock }) {
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT,
    rebalanceTimeout: SESSION_TIMEOUT,
    heartbeatInterval: HEARTBEAT_INTERVAL,
    maxWaitTimeInMs: MAX_WAIT,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    maxBytesPerPartition: FETCH_BYTES_PER_PARTITION,
    metadataMaxAge: 60_000, // how soon new partitions are found
    allowAutoTopicCreation: false,
    // kafkajs never starts itself again: that would be unseen, and some errors it deems final
    retry: { restartOnFailure: async () => false }
  })
  const commits = createCommits({ consumer, topic, log })
  /** @type {Map<AbortController, { partition: number, since: number }>} batches in progress */
  const active = new Map()
  /** @type {Map<number, number | undefined>} by partition of ours the offset that comes next, where it is known */
  const positions = new Map()
  const lag = createLagMonitor({
    kafka,
    settings: { topic, groupId },
    progress: () => {
      const busy = new Set([...active.values()].map(({ partition }) => partition))
      return new Map([...positions].map(([partition, next]) => [partition, { next, busy: busy.has(partition) }]))
    },
    onLag,
    onStuck: (partition, next) => {
      if (onStuck(`${partition}@${next}`)) fail(new Error(`partition ${partition} has records, the consumer gets none of them`))
    },
    log
  })
  let joined = false
  let stopping = false
  let lastPoll = clock.now()
  let polled = false
  let silent = false
  /** @type {(error: unknown) => void} */
  let fail = () => {}

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    joined = true
    lastPoll = clock.now()
    const partitions = payload.memberAssignment[topic] ?? []
    commits.reset()
    positions.clear()
    for (const partition of partitions) positions.set(partition, undefined)
    lag.start()
    log.info({ topic, groupId, partitions, leader: payload.isLeader }, 'joined the Kafka consumer group')
    onAssigned?.(partitions)
    onJoined()
  })
  consumer.on(consumer.events.REBALANCING, () => {
    joined = false
    // Still in time: the broker accepts it until this member joins again. What is not committed now comes again.
    commits.flush()
  })
  consumer.on(consumer.events.FETCH, () => {
    lastPoll = clock.now()
    polled = true
  })
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, batchSize, lastOffset } }) => {
    // only transaction markers, which are never handed over
    if (batchSize === 0 && positions.has(partition)) positions.set(partition, Number(lastOffset) + 1)
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error))

  /** @param {import('kafkajs').EachBatchPayload} payload */
  async function eachBatch ({ batch, resolveOffset, heartbeat, commitOffsetsIfNecessary, isRunning, isStale }) {
    // not taken, so it comes again; the pause keeps kafkajs from offering it in a tight loop
    if (stopping) return clock.sleep(50)
    const { generation } = commits
    const before = positions.get(batch.partition)
    if (before !== undefined && Number(batch.messages[0].offset) < before) {
      // kafkajs begins anew when its offset is not there any more; the bus knows offsets by topic and partition only
      log.error({ topic, partition: batch.partition, before, now: batch.messages[0].offset }, 'a partition begins again: if its topic was made anew, documents take its records for duplicates until they pass the old offset')
    }
    const abort = new AbortController()
    setMaxListeners(0, abort.signal) // everything that waits in the batch listens to it
    /** @type {unknown} */
    let lost
    const beat = () => {
      if (abort.signal.aborted) return clearInterval(timer)
      if (!isRunning() || isStale()) return abort.abort()
      heartbeat().catch((error) => {
        lost = error
        abort.abort()
      })
    }
    const timer = setInterval(beat, HEARTBEAT_INTERVAL / 2)
    active.set(abort, { partition: batch.partition, since: clock.now() })
    try {
      const done = await handle({ partition: batch.partition, messages: batch.messages, highWatermark: Number(batch.highWatermark) }, abort.signal)
      if (done > 0 && generation === commits.generation) {
        const { offset } = batch.messages[done - 1]
        resolveOffset(offset)
        // behind the last record there may be transaction markers, which belong to it
        const next = Number(done === batch.messages.length ? batch.lastOffset() : offset) + 1
        commits.done(generation, batch.partition, next)
        positions.set(batch.partition, next)
      }
    } finally {
      clearInterval(timer)
      active.delete(abort)
    }
    if (lost !== undefined) {
      await commits.flush(commitOffsetsIfNecessary)
      throw lost
    }
  }

  async function start () {
    await consumer.connect()
    // a group that is new to the topic begins with what is there: a publication that came before us is late, not lost
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: CONCURRENCY, eachBatch })
  }

  /** Lets batches in progress end, and takes care that what they did is committed before the group is left. */
  async function stop () {
    stopping = true
    const end = clock.now() + STOP_GRACE
    while (active.size > 0 && clock.now() < end) await clock.sleep(10)
    for (const abort of active.keys()) abort.abort()
    while (active.size > 0 && clock.now() < end + STOP_GRACE) await clock.sleep(10)
    await Promise.race([commits.flush(), clock.sleep(COMMIT_TIMEOUT)])
  }

  /** ms for which there should have been an answer */
  const silence = () => active.size > 0 ? 0 : clock.now() - lastPoll

  /** A consumer whose requests never come back fails by itself in no other way. */
  function watch () {
    const ms = silence()
    if (ms > LONG_SILENCE) fail(new Error(`no answer from Kafka for ${Math.round(ms / 1000)} s`))
    const nowSilent = ms > SILENCE
    if (nowSilent !== silent) {
      silent = nowSilent
      if (silent) log.warn({ topic, groupId, ms }, 'Kafka does not answer the consumer')
      else log.info({ topic, groupId }, 'Kafka answers the consumer again')
    }
  }

  return {
    async run (signal) {
      const ended = new Promise((resolve, reject) => {
        fail = reject
        if (signal.aborted) resolve(undefined)
        signal.addEventListener('abort', resolve, { once: true })
      })
      ended.catch(() => {})
      const watchdog = setInterval(watch, 1000)
      let starting = true
      const started = start().finally(() => { starting = false })
      try {
        await Promise.race([started, ended])
        await ended
        await stop()
      } finally {
        stopping = true
        joined = false
        clearInterval(watchdog)
        commits.close()
        lag.stop()
        for (const abort of active.keys()) abort.abort()
        if (!await closeQuietly(consumer, CLOSE_TIMEOUT)) log.warn({ topic, groupId }, 'the Kafka consumer did not close in time and is left behind')
        // one that gets through only now would join the group and keep partitions from those who work
        if (starting) started.then(() => closeQuietly(consumer, CLOSE_TIMEOUT), () => {})
      }
    },

    status () {
      const slow = active.size === 0 ? 0 : clock.now() - Math.min(...Array.from(active.values(), ({ since }) => since))
      const quiet = silence()
      return {
        joined,
        partitions: [...positions.keys()],
        pollAge: polled ? clock.now() - lastPoll : Infinity,
        reason: slow > SLOW_BATCH
          ? `a batch is in progress for ${Math.round(slow / 1000)} s`
          : quiet > SILENCE ? `no answer from Kafka for ${Math.round(quiet / 1000)} s` : undefined
      }
    }
  }
}
