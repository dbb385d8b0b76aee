import { retry } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { unlessAborted } from './abort.js'

/** Headers and framing around a value. */
const MAX_OVERHEAD = 65_536
/** One try lasts up to a minute, because kafkajs tries by itself; after so long without an answer it is told, ms. */
const NOTICE_AFTER = 5000

/**
 * Makes sure that topics are there: what is missing is created with the settings' partitions and replicas. Tries
 * until Kafka answers. Several processes may do this at once.
 *
 * @param {object} dependencies
 * @param {import('kafkajs').Kafka} dependencies.kafka
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
export class MissingTopicsError extends Error {
  /** @param {string[]} topics */
  constructor (topics) {
    super(`Kafka has no topic ${topics.join(', ')}, and KAFKA_TOPIC_PARTITIONS=0 forbids to create it`)
    this.name = 'MissingTopicsError'
    this.topics = topics
  }
}

/**
 * @param {object} dependencies
 * @param {import('kafkajs').Kafka} dependencies.kafka
 * @param {string[]} dependencies.topics
 * @param {{ partitions: number, replication: number }} dependencies.settings
 * @param {number} dependencies.maxBytes
 * @param {import('../common/log.js').Log} dependencies.log
 */
async function attempt ({ kafka, topics, settings, maxBytes, log }) {
  const admin = kafka.admin({ retry: { retries: 1 } })
  try {
    await admin.connect()
    /** @type {string[]} */
    const missing = []
    for (const topic of topics) if (!await exists(admin, topic)) missing.push(topic)
    if (missing.length === 0) return []
    if (settings.partitions === 0) throw new MissingTopicsError(missing)
    const configEntries = [{ name: 'max.message.bytes', value: String(maxBytes + MAX_OVERHEAD) }]
    // false: another process was faster, which is as good
    const created = await admin.createTopics({
      topics: missing.map((topic) => ({
        topic,
        numPartitions: settings.partitions,
        replicationFactor: settings.replication,
        configEntries
      })),
      waitForLeaders: true,
      timeout: 5000
    })
    if (created) log.info({ topics: missing, partitions: settings.partitions }, 'Kafka topics created')
    return created ? missing : []
  } finally {
    await admin.disconnect().catch(() => {})
  }
}

/**
 * @param {import('kafkajs').Admin} admin
 * @param {string} topic
 */
async function exists (admin, topic) {
  try {
    await admin.fetchTopicMetadata({ topics: [topic] })
    return true
  } catch (error) {
    const { type } = /** @type {{ type?: string }} */ (error)
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION') return false
    // it exists, its leaders are being chosen
    if (type === 'LEADER_NOT_AVAILABLE') return true
    throw error
  }
}
