import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { kafkaBrokers } from './env.js'

/**
 * Topics and a consumer group for one test, as settings, and a kafkajs client to inspect them. Removed after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 */
export function freshTopics (t) {
  const id = randomUUID().slice(0, 8)
  const downlink = `downlink-${id}`
  const uplink = `uplink-${id}`
  const deadLetter = `dead-letter-${id}`
  const kafka = new kafkajs.Kafka({
    clientId: `test-${id}`,
    brokers: kafkaBrokers().split(','),
    logLevel: kafkajs.logLevel.NOTHING
  })
  t.after(async () => {
    const admin = kafka.admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [downlink, uplink, deadLetter] }).catch(() => {})
    await admin.disconnect()
  })
  return {
    downlink,
    uplink,
    deadLetter,
    env: {
      KAFKA_BROKERS: kafkaBrokers(),
      KAFKA_TOPICS: `downlink:${downlink},uplink:${uplink},dead-letter:${deadLetter}`,
      KAFKA_GROUP_ID: `group-${id}`,
      KAFKA_TOPIC_PARTITIONS: '4'
    },

    async producer () {
      const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
      await producer.connect()
      t.after(() => producer.disconnect())
      return producer
    },

    /**
     * Collects all records of a topic from the beginning, in the background.
     * @param {string} topic
     */
    async collect (topic) {
      const consumer = kafka.consumer({ groupId: `look-${randomUUID()}` })
      /** @type {{ key: string | null, value: Buffer | null, headers: Record<string, string> }[]} */
      const records = []
      t.after(() => consumer.disconnect())
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        eachMessage: async ({ message }) => {
          const headers = Object.fromEntries(
            Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)])
          )
          records.push({ key: message.key === null ? null : String(message.key), value: message.value, headers })
        }
      })
      return records
    }
  }
}
