import { closeQuietly } from './close.js'

/**
 * Time after which the partitions of a dead member are reassigned, ms. The brokers' own lower limit is 6 s by default.
 */
const SESSION_TIMEOUT = 10_000
/**
 * Heartbeat interval, ms: a member learns within it that another one joins or leaves; the group is stopped meanwhile.
 */
const HEARTBEAT_INTERVAL = 1000
/** Maximum time that a broker holds a fetch without records, ms. A record ends it at once; closing waits for it. */
const MAX_WAIT = 500
/** Partitions that are processed at the same time. */
const CONCURRENCY = 8
/** Maximum size of a response, bytes; a larger batch is sent alone. */
const FETCH_BYTES = 8 * 2 ** 20
const FETCH_BYTES_PER_PARTITION = 2 ** 20
/** Maximum delay until new partitions are found, ms. */
const METADATA_MAX_AGE = 60_000
const CLOSE_TIMEOUT = 3000

/**
 * @param {import('kafkajs').Kafka} kafka
 * @param {{ topic: string, groupId: string }} options
 * @param {import('../contract.js').SubscriptionHandlers} handlers
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {import('../contract.js').Subscription}
 */
export function createSubscription (kafka, { topic, groupId }, handlers, clock) {
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT,
    rebalanceTimeout: SESSION_TIMEOUT,
    heartbeatInterval: HEARTBEAT_INTERVAL,
    maxWaitTimeInMs: MAX_WAIT,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    maxBytesPerPartition: FETCH_BYTES_PER_PARTITION,
    metadataMaxAge: METADATA_MAX_AGE,
    allowAutoTopicCreation: false,
    // kafkajs would restart without notice, and not after errors that it considers final
    retry: { restartOnFailure: async () => false }
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) =>
    handlers.onJoined({ partitions: payload.memberAssignment[topic] ?? [], leader: payload.isLeader }))
  consumer.on(consumer.events.REBALANCING, () => handlers.onRebalance())
  consumer.on(consumer.events.FETCH, () => handlers.onResponse())
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, batchSize, lastOffset } }) => {
    // transaction markers are never passed on
    if (batchSize === 0) handlers.onSkip(partition, Number(lastOffset) + 1)
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => handlers.onFailure(payload.error))

  return {
    async start () {
      await consumer.connect()
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: CONCURRENCY,
        eachBatch: (payload) => handlers.handle(deliveryOf(topic, payload))
      })
    },

    commit: (offsets) =>
      consumer.commitOffsets(
        offsets.map(({ partition, offset, metadata }) => ({ topic, partition, offset: String(offset), metadata }))
      ),

    seek: (partition, offset) => consumer.seek({ topic, partition, offset: String(offset) }),

    close: () => closeQuietly(consumer, CLOSE_TIMEOUT, clock)
  }
}

/**
 * @param {string} topic
 * @param {import('kafkajs').EachBatchPayload} payload
 * @returns {import('../contract.js').Delivery}
 */
function deliveryOf (topic, payload) {
  const { batch } = payload
  const { fetchedOffset } = /** @type {{ fetchedOffset?: string }} */ (/** @type {unknown} */ (batch))
  return {
    partition: batch.partition,
    messages: batch.messages,
    from: Number(fetchedOffset ?? NaN),
    end: Number(batch.lastOffset()) + 1,
    highWatermark: Number(batch.highWatermark),
    isCurrent: () => payload.isRunning() && !payload.isStale(),
    heartbeat: () => payload.heartbeat(),
    resolve: (offset) => payload.resolveOffset(offset),
    pause: () => payload.pause(),
    commit: (offsets) =>
      payload.commitOffsetsIfNecessary({
        topics: [
          {
            topic,
            partitions: offsets.map(({ partition, offset, metadata }) => ({
              partition,
              offset: String(offset),
              metadata
            }))
          }
        ]
      })
  }
}
