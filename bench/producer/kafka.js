/**
 * Records to Kafka, sent as by a business service.
 */
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { guidOf } from '../job.js'

/**
 * @param {{ brokers: string, topic: string }} destination
 * @returns {Promise<import('./process.js').Publish>}
 */
export async function openKafka ({ brokers, topic }) {
  const kafka = new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.ERROR })
  // one request at a time, so that no request overtakes one that is being retried
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, maxInFlightRequests: 1 })
  await producer.connect()
  return async (records) => {
    await producer.send({
      topic,
      acks: 1,
      messages: records.map(({ document, value }) => ({
        key: guidOf(document),
        value,
        headers: { 'x-operator': 'broadcast', 'x-guid': guidOf(document), 'x-event': 'message' }
      }))
    })
  }
}
