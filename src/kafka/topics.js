import { Backoff, retry } from '../base/common/backoff.js'
import { unlessAborted } from '../base/common/wait.js'
import { MIN_IN_SYNC, tellUnsafeTopics } from './topic-safety.js'

/** Headers and framing around a value. */
const MAX_OVERHEAD = 65_536
/** An attempt may last a minute, because drivers retry; a warning is logged after this time, ms. */
const NOTICE_AFTER = 5000

/**
 * Creates missing topics with the settings' partitions, and with the replicas that the brokers give them. Retries until
 * Kafka responds. Several processes may do this at once.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'ensureTopics' | 'safety'>} dependencies.kafka
 * @param {string[]} dependencies.topics
 * @param {{ partitions: number }} dependencies.settings 0: create nothing
 * @param {number} [dependencies.maxBytes] maximum size of a record's value, bytes; a broker's default allows 1 MB with
 *   headers
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {AbortSignal} [dependencies.signal] ends the retries
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @returns {Promise<void>} when they exist
 * @throws the signal's reason; MissingTopicsError when topics are missing and may not be created
 */
export async function ensureTopics ({ kafka, topics, settings, maxBytes = 2 ** 20, log, signal, clock, random }) {
  let warned = false
  /** @param {object} details */
  const warn = (details) => {
    log[warned ? 'debug' : 'warn']({ topics, ...details }, 'Kafka does not respond; its topics are not checked yet')
    warned = true
  }
  return retry(async () => {
    const notice = clock.timer(NOTICE_AFTER, () => warn({}))
    try {
      return await unlessAborted(attempt({ kafka, topics: [...new Set(topics)], settings, maxBytes, log }), signal)
    } finally {
      notice.stop()
    }
  }, {
    signal,
    clock,
    backoff: new Backoff({ random }),
    retryable: (error) => !(error instanceof MissingTopicsError),
    onFailure: (error, waitMs) => warn({ err: error, waitMs })
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

/** @param {Omit<Required<Parameters<typeof ensureTopics>[0]>, 'signal' | 'clock' | 'random'>} request */
async function attempt ({ kafka, topics, settings: { partitions }, maxBytes, log }) {
  const { missing, created } = await kafka.ensureTopics({
    topics,
    partitions,
    maxMessageBytes: maxBytes + MAX_OVERHEAD,
    minInSync: MIN_IN_SYNC
  })
  if (missing.length > 0 && partitions === 0) throw new MissingTopicsError(missing)
  await tellUnsafeTopics({ kafka, topics, log })
  if (created) log.info({ topics: missing, partitions }, 'Kafka topics created')
}
