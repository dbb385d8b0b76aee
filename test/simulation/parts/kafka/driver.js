import { nextRecords } from '../../world/next-version.js'
import { KafkaError } from './errors.js'
import { PATIENT } from './link.js'
import { SimProducer } from './producer.js'
import { SimSubscription } from './subscription.js'

/** Replicas of a topic, where there are as many nodes. */
const REPLICAS = 3

/**
 * The driver of one process.
 *
 * @param {import('../broker.js').Broker} broker
 * @param {import('../../world/sim-process.js').SimProcess} process
 * @returns {import('../../../../src/kafka/contract.js').KafkaDriver}
 */
export function createDriver (broker, process) {
  const link = broker.link(process)
  const replicas = Math.min(REPLICAS, broker.nodes)

  /**
   * @template T
   * @param {string} kind
   * @param {() => T} look at the broker; throws a KafkaError
   * @param {{ tries?: number, over?: import('./link.js').Link }} [options]
   * @returns {Promise<T>}
   */
  const asked = (kind, look, { tries = PATIENT, over = link } = {}) => over.retried(() => over.ask(kind, (reply) => {
    try {
      reply(undefined, look())
    } catch (error) {
      reply(/** @type {KafkaError} */ (error))
    }
  }), { tries })

  return {
    consume (options, handlers) {
      const subscription = new SimSubscription(broker, process, options, handlers)
      return {
        start: () => subscription.start(),
        commit: (offsets) => subscription.commit(offsets),
        seek: (partition, offset) => subscription.seek(partition, offset),
        close: () => subscription.close()
      }
    },

    async produce (topic) {
      const producer = new SimProducer(broker.link(process), topic)
      await producer.connect()
      return {
        maxBytes: producer.maxBytes,
        send: (messages) => producer.send(nextRecords(messages)),
        close: () => producer.close()
      }
    },

    ensureTopics: ({ topics, partitions, maxMessageBytes, minInSync }) => asked('topics', () => {
      const missing = topics.filter((topic) => !broker.topics.has(topic))
      if (partitions === 0 || missing.length === 0) return { missing, created: false }
      for (const topic of missing) broker.create(topic, {
        partitions, maxBytes: maxMessageBytes,
        minInSync: minInSync !== undefined && replicas > minInSync ? minInSync : 1
      })
      return { missing, created: true }
    }, { tries: 2 }),

    safety: (topics) => asked('safety', () => ({
      brokers: broker.nodes,
      topics: topics.map((topic) => ({ topic, replicas, minInSync: broker.topic(topic).minInSync }))
    }), { tries: 2 }),

    topicId: (topic) => asked('topic id', () => broker.topics.get(topic)?.id).then((id) => {
      if (id === undefined) throw new Error(`Kafka has no topic ${topic} at the moment`)
      return id
    }),

    epochEnd: ({ topic, partition, epoch }) =>
      asked('epoch end', () => broker.led(topic, partition).epochEnd(epoch)),

    async inspect ({ retries }) {
      const over = broker.link(process)
      await asked('connect', () => true, { tries: retries + 1, over })
      let isClosed = false
      const open = () => { if (isClosed) throw new KafkaError('CONNECTION') }
      return {
        async ends (topic) {
          open()
          return asked('ends', () => broker.topic(topic).partitions.map(({ number, low, end }) =>
            ({ partition: number, low, high: end })), { tries: retries + 1, over })
        },

        async committed (groupId, topic) {
          open()
          return asked('committed', () => broker.topic(topic).partitions.map(({ number }) => ({
            offset: -1, metadata: '', ...broker.group(groupId).committed.get(topic)?.get(number), partition: number
          })), { tries: retries + 1, over })
        },

        close () { isClosed = true }
      }
    }
  }
}
