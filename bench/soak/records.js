/**
 * Records that services publish to Kafka, exactly once, while brokers come and go.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { HEADER } from '../../src/wire/headers.js'

const TOPIC = 'documents.downlink'
/** After this many records one goes to a new document that no client has open. */
const STRAY = 10
/** Until records are given up, and between two tries, ms. */
const [TRIES, PAUSE] = [600, 100]

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} brokers
 * @returns {Promise<import('../../packages/load/publisher.js').Produce>}
 */
export async function openProducer (t, brokers) {
  const { logLevel, Partitioners } = kafkajs
  const kafka = new kafkajs.Kafka({
    clientId: 'soak', brokers: [brokers], logLevel: logLevel.NOTHING, connectionTimeout: 2000, requestTimeout: 5000
  })
  const producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    idempotent: true,
    maxInFlightRequests: 1,
    // after giving up, kafkajs would send the records with a new sequence number
    retry: { retries: 1000, initialRetryTime: 100, maxRetryTime: 1000 }
  })
  await producer.connect()
  t.after(() => producer.disconnect())

  /** @type {{ messages: import('kafkajs').Message[], done: (accepted: boolean) => void }[]} */
  let queue = []
  let sending = false
  let count = 0

  async function drain () {
    if (sending) return
    sending = true
    while (queue.length > 0) {
      const batch = queue
      queue = []
      const messages = batch.flatMap((each) => each.messages)
      let accepted = false
      for (let tries = 0; tries < TRIES && !accepted; tries++) {
        if (tries > 0) await delay(PAUSE)
        // idempotent: it may be offered again
        accepted = await producer.send({ topic: TOPIC, acks: -1, messages }).then(() => true, () => false)
      }
      for (const { done } of batch) done(accepted)
    }
    sending = false
  }

  const messageOf = (/** @type {string} */ guid, /** @type {string} */ event, /** @type {string} */ value) => ({
    key: guid, value, headers: { [HEADER.operator]: 'broadcast', [HEADER.guid]: guid, [HEADER.event]: event }
  })

  return (guid, event, value) => new Promise((done) => {
    const messages = [messageOf(guid, event, value)]
    if (count++ % STRAY === 0) messages.push(messageOf(`soak-${randomUUID()}`, event, value))
    queue.push({ messages, done })
    drain()
  })
}
