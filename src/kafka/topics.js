import { retry } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { unlessAborted } from '../common/wait.js'

/** Headers and framing around a value. */
const MAX_OVERHEAD = 65_536
/** One try lasts up to a minute, because kafkajs tries by itself; after so long without an answer it is told, ms. */
const NOTICE_AFTER = 5000

/**
 * Makes sure that topics are there: what is missing is created with the settings' partitions and replicas. Tries
 * until Kafka answers. Several processes may do this at once.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'ensureTopics'>} dependencies.kafka
 * @param {string[]} dependencies.topics
 * @param {{ partitions: number, replication: number }} dependencies.settings partitions 0: create nothing;
 *   replication -1: the broker's default
 * @param {number} [dependencies.maxBytes] largest value of a record, bytes; a broker's default has room for 1 MB with
 *   its headers
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {AbortSignal} [dependencies.signal] gives up
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @returns {Promise<string[]>} those that were created
 * @throws the signal's reason; MissingTopicsError when topics are missing and may not be created
 */
export async function ensureTopics ({ kafka, topics, settings, maxBytes = 2 ** 20, log, signal, clock = systemClock }) {
  let told = false
  /** @param {object} details */
  const tell = (details) => {
    log[told ? 'debug' : 'warn']({ topics, ...details }, 'Kafka does not answer, its topics are not checked yet')
    told = true
  }
  return retry(async () => {
    const notice = setTimeout(tell, NOTICE_AFTER, {})
    try {
      return await unlessAborted(attempt({ kafka, topics: [...new Set(topics)], settings, maxBytes, log }), signal)
    } finally {
      clearTimeout(notice)
    }
  }, {
    signal,
    clock,
    retryable: (error) => !(error instanceof MissingTopicsError),
    onFailure: (error, waitMs) => tell({ err: error, waitMs })
  })
}

/** Topics do not exist and inkcast may not create them. */
class MissingTopicsError extends Error {
  /** @param {string[]} topics */
  constructor (topics) {
    super(`Kafka has no topic ${topics.join(', ')}, and KAFKA_TOPIC_PARTITIONS=0 forbids to create it`)
    this.name = 'MissingTopicsError'
    this.topics = topics
  }
}

/**
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'ensureTopics'>} dependencies.kafka
 * @param {string[]} dependencies.topics
 * @param {{ partitions: number, replication: number }} dependencies.settings
 * @param {number} dependencies.maxBytes
 * @param {import('../common/log.js').Log} dependencies.log
 */
async function attempt ({ kafka, topics, settings: { partitions, replication }, maxBytes, log }) {
  const { missing, created } = await kafka.ensureTopics({
    topics,
    partitions,
    replication,
    maxMessageBytes: maxBytes + MAX_OVERHEAD
  })
  if (missing.length > 0 && partitions === 0) throw new MissingTopicsError(missing)
  if (!created) return []
  log.info({ topics: missing, partitions }, 'Kafka topics created')
  return missing
}
