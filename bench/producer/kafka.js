/**
 * Records to Kafka, as a business service would send them.
 */
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { guidOf } from '../job.js'

/**
 * @param {{ brokers: string, topic: string }} destination
 * @returns {Promise<import('./process.js').Publish>}
 */
export async function openKafka ({ brokers, topic }) {
  const kafka = new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.ERROR })
  // one request at a time: the next would overtake one that has to be sent again
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
