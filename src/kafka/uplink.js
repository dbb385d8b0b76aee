import { publicError } from '../errors.js'
import { HEADER } from '../wire/headers.js'
import { createProducer } from './producer.js'

/**
 * The uplink over Kafka: src/uplink.js is its contract, DESIGN's "Uplink headers" its format.
 * The key is the guid, so that a document's records keep their order; without one, the user, or the connection.
 *
 * @param {object} dependencies
 * @param {import('kafkajs').Kafka} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {import('../log.js').Log} dependencies.log
 * @param {Pick<import('../metrics.js').Metrics, 'uplink_records' | 'uplink_pending'>} dependencies.metrics
 * @param {import('../clock.js').Clock} [dependencies.clock]
 * @param {Partial<typeof import('./producer.js').LIMITS>} [dependencies.limits]
 * @returns {import('../uplink.js').Uplink}
 */
export function createKafkaUplink ({ kafka, topic, log, metrics, clock, limits }) {
  const producer = createProducer({ kafka, topic, log, clock, limits, onPending: (records) => metrics.uplink_pending.set(records) })
  return {
    start: () => producer.start(),
    stop: () => producer.stop(),
    async send (record) {
      try {
        await producer.send({ key: record.guid ?? record.uid ?? record.sid ?? null, value: record.value, headers: headersOf(record) })
        metrics.uplink_records.inc({ operator: record.operator, result: 'ok' })
      } catch (error) {
        metrics.uplink_records.inc({ operator: record.operator, result: publicError(error).code })
        throw error
      }
    }
  }
}

/**
 * @param {import('../uplink.js').UplinkRecord} record
 * @returns {Record<string, string>}
 */
export function headersOf ({ operator, uid, sid, guid, event, traceId, timestamp, contentType }) {
  /** @type {Record<string, string>} */
  const headers = {
    [HEADER.operator]: operator,
    [HEADER.traceId]: traceId,
    [HEADER.timestamp]: String(timestamp),
    [HEADER.contentType]: contentType
  }
  if (uid !== undefined) headers[HEADER.uid] = uid
  if (sid !== undefined) headers[HEADER.sid] = sid
  if (guid !== undefined) headers[HEADER.guid] = guid
  if (event !== undefined) headers[HEADER.event] = event
  return headers
}
