import { createRequire } from 'node:module'
import { closeQuietly } from './close.js'

const require = createRequire(import.meta.url)
const { ConfigResourceTypes } = require('kafkajs')

const { TOPIC, BROKER } = ConfigResourceTypes
const MIN_IN_SYNC = 'min.insync.replicas'
const REPLICATION = 'default.replication.factor'

/** Leaves the number of replicas to the brokers. */
const BROKERS_DEFAULT = -1

const CLOSE_TIMEOUT = 1000
/** Timeout for a broker to create topics, ms. */
const CREATE_TIMEOUT = 5000

/**
 * @param {import('kafkajs').Kafka} kafka
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {Pick<import('../contract.js').KafkaDriver, 'ensureTopics' | 'safety' | 'inspect'>}
 */
export const createAdmin = (kafka, clock) => ({
  async ensureTopics ({ topics, partitions, maxMessageBytes, minInSync }) {
    const admin = await connect(kafka, 1, clock)
    try {
      /** @type {string[]} */
      const missing = []
      for (const topic of topics) if (!await exists(admin, topic)) missing.push(topic)
      if (missing.length === 0 || partitions === 0) return { missing, created: false }
      const configEntries = [{ name: 'max.message.bytes', value: String(maxMessageBytes) }]
      if (minInSync !== undefined && await defaultReplication(admin) > minInSync)
        configEntries.push({ name: MIN_IN_SYNC, value: String(minInSync) })
      const created = await admin.createTopics({
        topics: missing.map((topic) => ({
          topic,
          numPartitions: partitions,
          replicationFactor: BROKERS_DEFAULT,
          configEntries
        })),
        waitForLeaders: true,
        timeout: CREATE_TIMEOUT
      })
      return { missing, created }
    } finally {
      await admin.disconnect().catch(() => {})
    }
  },

  async safety (topics) {
    const admin = await connect(kafka, 1, clock)
    try {
      const [{ brokers }, metadata, { resources }] = await Promise.all([
        admin.describeCluster(),
        admin.fetchTopicMetadata({ topics }),
        admin.describeConfigs({
          includeSynonyms: false,
          resources: topics.map((name) => ({ type: TOPIC, name, configNames: [MIN_IN_SYNC] }))
        })
      ])
      return {
        brokers: brokers.length,
        topics: metadata.topics.map(({ name, partitions }) => ({
          topic: name,
          replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          minInSync: Number(valueOf(resources.find(({ resourceName }) => resourceName === name), MIN_IN_SYNC))
        }))
      }
    } finally {
      await admin.disconnect().catch(() => {})
    }
  },

  async inspect ({ retries }) {
    const admin = await connect(kafka, retries, clock)
    return {
      async ends (topic) {
        const found = await admin.fetchTopicOffsets(topic)
        return found.map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }))
      },

      async committed (groupId, topic) {
        const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
        return partitions.map(({ partition, offset, metadata }) => ({
          partition,
          offset: Number(offset),
          metadata: metadata ?? ''
        }))
      },

      close () {
        closeQuietly(admin, CLOSE_TIMEOUT, clock)
      }
    }
  }
})

/**
 * @param {import('kafkajs').DescribeConfigResponse['resources'][number] | undefined} resource
 * @param {string} setting
 */
const valueOf = (resource, setting) =>
  resource?.configEntries.find(({ configName }) => configName === setting)?.configValue

/**
 * @param {import('kafkajs').Admin} admin
 * @returns {Promise<number>} replicas of a new topic for which the broker decides; 1 if it does not tell
 */
async function defaultReplication (admin) {
  try {
    const { brokers: [{ nodeId }] } = await admin.describeCluster()
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: BROKER, name: String(nodeId), configNames: [REPLICATION] }]
    })
    return Number(valueOf(resources[0], REPLICATION) ?? 1)
  } catch {
    // the user may not read the broker's settings
    return 1
  }
}

/**
 * @param {import('kafkajs').Kafka} kafka
 * @param {number} retries
 * @param {import('../../base/common/wait.js').Timers} clock
 */
async function connect (kafka, retries, clock) {
  const admin = kafka.admin({ retry: { retries } })
  try {
    await admin.connect()
    return admin
  } catch (error) {
    closeQuietly(admin, CLOSE_TIMEOUT, clock)
    throw error
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
    // the topic exists, and its leaders are being elected
    if (type === 'LEADER_NOT_AVAILABLE') return true
    throw error
  }
}
