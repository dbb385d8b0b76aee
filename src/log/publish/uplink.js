/**
 * The uplink to the business services: messages of clients, life-cycle events of their connections, and receipts. Two
 * implementations, kafka-uplink.js and, without Kafka, loopback.js, pass the same suite (test/contract/uplink.js).
 *
 * @typedef {object} UplinkRecord
 * @property {'message' | 'online' | 'offline' | 'joined' | 'left' | 'vacated' | 'receipt'} operator
 * @property {string} [uid] of the sending client; for a receipt, the target of its record
 * @property {string} [sid] connection id
 * @property {string} [device] of a life-cycle event: client id, and
 * @property {string} [listener] its listener, of a connection that is not Socket.IO's
 * @property {string} [sender] of a message: id that excludes its sender (src/gateway/sender.js)
 * @property {string} [guid]
 * @property {string} [event]
 * @property {string} traceId
 * @property {string} [traceparent] W3C Trace Context
 * @property {number} timestamp ms since 1970
 * @property {import('../../wire/publication.js').ContentType} contentType
 * @property {Buffer} value
 * @property {import('../bus/contract.js').QueuePlace} [queue] its place in the client's queue: sent once
 * @property {Buffer} [asSent] msgpack as the client's library writes it, if services read another form (Dates); for an
 *   uplink that delivers it to clients again
 * @property {string[]} [except] clients that do not get it, for an uplink that delivers it to clients again
 */

/**
 * @typedef {object} Uplink
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {(record: UplinkRecord) => Promise<{ duplicate: boolean } | void>} send resolves when the receiver has
 *   stored the record (Kafka: acknowledged by all in-sync replicas); `duplicate`: a queued edit that it had before.
 *   Records of one guid keep their order. Rejects with `unavailable` or `timeout` (retryable) within 10 s, and at once
 *   with `unavailable` when more than 10,000 records are queued
 */
export {}
