/**
 * Kafka's records to rooms, as in https://kafka.js.org/docs/consuming: all workers form one group, so each record
 * reaches one of them, and the Redis adapter forwards it to the others.
 */
import { Kafka, logLevel } from 'kafkajs'

const { KAFKA_DOWNLINK_TOPIC = 'documents.downlink', KAFKA_GROUP_ID = 'baseline' } = process.env

/**
 * @param {import('socket.io').Server} io
 * @param {string[]} brokers
 */
export async function consumeRecords (io, brokers) {
  const kafka = new Kafka({ clientId: 'baseline', brokers, logLevel: logLevel.WARN })
  const consumer = kafka.consumer({ groupId: KAFKA_GROUP_ID })
  await consumer.connect()
  await consumer.subscribe({ topic: KAFKA_DOWNLINK_TOPIC })
  await consumer.run({
    eachMessage: async ({ message }) => {
      const { headers = {}, value } = message
      const guid = String(headers['x-guid'])
      const event = String(headers['x-event'] ?? 'message')
      io.to(guid).emit(event, JSON.parse(String(value)), { guid })
    }
  })
}
