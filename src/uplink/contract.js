/**
 * Towards the business services: what clients send and, later, what happens to their connections. Kafka's
 * implementation is kafka/uplink.js; without Kafka, gateway/uplink-loopback.js stands in for the business service.
 *
 * @typedef {object} UplinkRecord
 * @property {'message' | 'online' | 'offline' | 'joined' | 'left' | 'vacated' | 'receipt'} operator
 * @property {string} [uid] of the client that sent it; of a receipt, the target of its record
 * @property {string} [sid] connection id
 * @property {string} [guid]
 * @property {string} [event]
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 * @property {import('../wire/publication.js').ContentType} contentType
 * @property {Buffer} value
 * @property {Buffer} [asSent] msgpack as the client's library writes it, where that is not what services read (Dates);
 *   for who hands it to clients again
 */

/**
 * @typedef {object} Uplink
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {(record: UplinkRecord) => Promise<void>} send resolves when the record is safe with its receiver
 *   (Kafka: acknowledged by all in-sync replicas); records of one guid keep their order. Rejects with `unavailable`
 *   or `timeout` (retryable) within 10 s, and at once with `unavailable` when more than 10,000 records are waiting
 */
export {}
