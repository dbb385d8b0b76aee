import { publicError } from '../../base/common/errors.js'
import { HEADER } from '../../wire/headers.js'
import { Producer } from '../../kafka/producer.js'

/**
 * The uplink over Kafka (contract.js); docs/kafka.md describes the format. The key is the guid, so that a document's
 * records keep their order; without a guid it is the user, or the connection.
 *
 * A queued edit is sent once: the bus remembers the last number of each queue. If this process dies between Kafka's
 * acknowledgement and that note, the client's retry is a second record, with the same `x-queue` and `x-seq`.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../kafka/contract.js').KafkaDriver, 'produce'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {Pick<import('../../log/bus/contract.js').Bus, 'queuedUpTo' | 'noteQueued'>} dependencies.queues
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'uplink_records' | 'uplink_pending'>}
 *   dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 * @param {Partial<typeof import('../../kafka/producer.js').LIMITS>} [dependencies.limits]
 * @returns {import('../../log/publish/uplink.js').Uplink}
 */
export function createKafkaUplink ({ kafka, topic, queues, log, metrics, clock, random, limits }) {
  const producer = new Producer({
    kafka, topic, log, clock, random, limits,
    onPending: (records) => metrics.uplink_pending.set(records)
  })
  return {
    start: () => producer.start(),
    stop: () => producer.stop(),
    async send (record) {
      const { guid, queue } = record
      try {
        if (guid !== undefined && queue !== undefined && await queues.queuedUpTo(guid, queue) >= queue.number)
          return { duplicate: true }
        await producer.send({
          key: record.guid ?? record.uid ?? record.sid ?? null,
          value: record.value,
          headers: headersOf(record)
        })
        metrics.uplink_records.inc({ operator: record.operator, result: 'ok' })
        // it is sent: a retry that comes after a failed note is a duplicate, which services recognize
        if (guid !== undefined && queue !== undefined)
          await queues.noteQueued(guid, queue).catch((error) => log.warn({ err: error }, 'a queued edit was not noted'))
        return { duplicate: false }
      } catch (error) {
        metrics.uplink_records.inc({ operator: record.operator, result: publicError(error).code })
        throw error
      }
    }
  }
}

/** @param {import('../../log/publish/uplink.js').UplinkRecord} record */
function headersOf (record) {
  const { uid, sid, device, listener, sender, guid, event, traceparent } = record
  /** @type {Record<string, string>} */
  const headers = {
    [HEADER.operator]: record.operator,
    [HEADER.traceId]: record.traceId,
    [HEADER.timestamp]: String(record.timestamp),
    [HEADER.contentType]: record.contentType
  }
  if (uid !== undefined) headers[HEADER.uid] = uid
  if (sid !== undefined) headers[HEADER.sid] = sid
  if (device !== undefined) headers[HEADER.device] = device
  if (listener !== undefined) headers[HEADER.listener] = listener
  if (sender !== undefined) headers[HEADER.sender] = sender
  if (guid !== undefined) headers[HEADER.guid] = guid
  if (event !== undefined) headers[HEADER.event] = event
  if (traceparent !== undefined) headers[HEADER.traceparent] = traceparent
  if (record.queue !== undefined) {
    headers[HEADER.queue] = record.queue.id
    headers[HEADER.number] = String(record.queue.number)
  }
  return headers
}
