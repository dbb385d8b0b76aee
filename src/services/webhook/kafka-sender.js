import { WEBHOOK_GROUP } from '../../config/load.js'
import { DeadLetter } from '../../kafka/dead-letter.js'
import { Consumer } from '../../kafka/consumer.js'
import { ensureTopics } from '../../kafka/topics.js'
import { recordFromMessage } from '../uplink/kafka-record.js'
import { BATCH } from '../uplink/stream/contract.js'

/**
 * Sends the records of the uplink topic to the webhook, with a consumer group of its own: of each partition one batch
 * after the other. Records that the service refuses for good go to the dead-letter topic.
 *
 * @param {object} dependencies
 * @param {import('../../kafka/contract.js').KafkaDriver} dependencies.kafka
 * @param {import('../../config/load.js').Config['kafka']} dependencies.settings
 * @param {string} [dependencies.group] name of the reader, which the consumer group ends with
 * @param {number} dependencies.maxBytes config.limits.maxRecordBytes
 * @param {Pick<import('./delivery.js').Delivery, 'deliver'>} dependencies.delivery
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createKafkaSender ({ kafka, settings, group = WEBHOOK_GROUP, maxBytes, delivery, log, clock, random }) {
  const { uplink: topic, deadLetter: deadLetterTopic } = settings.topics
  const groupId = `${settings.groupId}-${group}`
  const deadLetters = new DeadLetter({ kafka, topic: deadLetterTopic, log, clock, random })

  /** @type {import('../../kafka/batch.js').BatchHandler} */
  async function handle ({ partition, messages }, signal) {
    let done = 0
    while (done < messages.length && !signal.aborted) {
      const end = endOf(messages, done)
      const chunk = messages.slice(done, end)
      try {
        await deliver(partition, chunk, signal)
      } catch (error) {
        if (signal.aborted) break
        throw error
      }
      done = end
    }
    return done
  }

  /**
   * @param {number} partition
   * @param {import('../../kafka/contract.js').KafkaRecord[]} messages
   * @param {AbortSignal} signal
   */
  async function deliver (partition, messages, signal) {
    const byId = new Map(messages.map((message) => [`${topic}-${partition}-${message.offset}`, message]))
    const entries = []
    for (const [id, message] of byId) {
      const record = recordFromMessage(message)
      if (record !== null)
        entries.push({ id, source: `/inkcast/${topic}/${partition}`, sequence: Number(message.offset), record })
      else log.warn({ topic, partition, offset: message.offset }, 'a record of the uplink cannot be read, and is skipped')
    }
    if (entries.length === 0) return
    await delivery.deliver(entries, {
      signal,
      onRefused: async ({ id }, reason) => {
        const message = /** @type {import('../../kafka/contract.js').KafkaRecord} */ (byId.get(id))
        // one attempt: after a failure the consumer is replaced, which creates a missing topic
        await deadLetters.write({ topic, partition, message, reason: `webhook: ${reason}` })
      }
    })
  }

  const consumer = new Consumer({
    kafka,
    settings: { topic, groupId },
    reader: {
      prepare: (signal) =>
        ensureTopics({ kafka, topics: [topic, deadLetterTopic], settings, maxBytes, log, signal, clock, random }),
      handle
    },
    log,
    clock,
    random
  })

  return {
    start: () => consumer.start(),
    async stop () {
      await consumer.stop()
      await deadLetters.stop()
    }
  }
}

/**
 * @param {import('../../kafka/contract.js').KafkaRecord[]} messages
 * @param {number} from
 * @returns {number} the end of a batch that begins there
 */
function endOf (messages, from) {
  let bytes = 0
  for (let i = from; i < messages.length; i++) {
    bytes += messages[i].value?.length ?? 0
    if (i > from && (i - from === BATCH.records || bytes > BATCH.bytes)) return i
  }
  return messages.length
}
