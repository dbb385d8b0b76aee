/**
 * Fetch requests and responses, version 11 (Kafka 2.3 and later), the latest that kafkajs supports:
 * https://kafka.apache.org/protocol#The_Messages_Fetch
 *
 * A consumer of twelve partitions requests all of them each time, and usually one has records. kafkajs creates several
 * encoders per partition, and a batch of each one, even if empty.
 */

import { createBudget } from '../codecs/budget.js'

export const FETCH = Object.freeze({ apiKey: 1, apiName: 'Fetch', apiVersion: 11 })

/**
 * The fetched data of one partition, with kafkajs's names.
 * @typedef {object} FetchedPartition
 * @property {number} partition
 * @property {number} errorCode
 * @property {string} highWatermark
 * @property {string} lastStableOffset
 * @property {string} lastStartOffset
 * @property {{ producerId: string, firstOffset: string }[]} abortedTransactions
 * @property {number} preferredReadReplica
 * @property {import('./record-batch.js').DecodedMessage[]} messages
 *
 * @typedef {object} FetchResponse
 * @property {number} throttleTime
 * @property {number} clientSideThrottleTime
 * @property {number} errorCode
 * @property {number} sessionId
 * @property {{ topicName: string, partitions: FetchedPartition[] }[]} responses without partitions that have neither
 *   records nor an error
 */

const NO_PREFERENCE = -1
/**
 * Size of a partition in a request: number, leader epoch, offset, start of the log (between brokers only), maximum
 * bytes.
 */
const PARTITION_BYTES = 28

/**
 * Makes requests for the same partitions: only offsets and the first partition change.
 *
 * @param {object} asked
 * @param {string} asked.clientId
 * @param {string} asked.topic
 * @param {number[]} asked.partitions
 * @param {number} asked.maxWaitTime ms
 * @param {number} asked.minBytes
 * @param {number} asked.maxBytes
 * @param {number} asked.maxBytesPerPartition
 * @param {number} asked.isolationLevel
 * @param {string} asked.rackId
 * @returns {(correlationId: number, offsets: number[], first: number) => Buffer} offsets: in the order of the
 *   partitions; first: index of the partition that comes first and therefore gets its share of a full response (KIP-74)
 */
export function fetchRequests ({
  clientId, topic, partitions, maxWaitTime, minBytes, maxBytes, maxBytesPerPartition, isolationLevel, rackId
}) {
  const head = Buffer.concat([
    int32(0),
    int16(FETCH.apiKey),
    int16(FETCH.apiVersion),
    int32(0),
    string(clientId),
    int32(-1),
    int32(maxWaitTime),
    int32(minBytes),
    int32(maxBytes),
    Buffer.from([isolationLevel]),
    int32(0),
    int32(-1), // no session: each request names all partitions
    int32(1),
    string(topic),
    int32(partitions.length)
  ])
  const tail = Buffer.concat([int32(0), string(rackId)])
  const length = head.length + PARTITION_BYTES * partitions.length + tail.length
  head.writeInt32BE(length - 4, 0)

  return (correlationId, offsets, first) => {
    const request = Buffer.allocUnsafe(length)
    let at = head.copy(request, 0)
    request.writeInt32BE(correlationId, 8)
    for (let n = 0; n < partitions.length; n++) {
      const i = (first + n) % partitions.length
      at = request.writeInt32BE(partitions[i], at)
      at = request.writeInt32BE(-1, at)
      at = writeInt64(request, offsets[i], at)
      at = writeInt64(request, -1, at)
      at = request.writeInt32BE(maxBytesPerPartition, at)
    }
    tail.copy(request, at)
    return request
  }
}

/**
 * @param {(payload: Buffer, at: number, end: number, budget: () => ReturnType<typeof createBudget>) =>
 *   Promise<any[] | undefined>} decodeMessages undefined: not ready, the next response brings the same records again
 * @returns {(payload: Buffer) => Promise<FetchResponse>}
 */
export const fetchResponses = (decodeMessages) => async (payload) => {
  let at = 10
  /** Created for the first compressed batch. @type {ReturnType<typeof createBudget> | undefined} */
  let made
  const budget = () => made ??= createBudget()
  /** @type {FetchResponse} */
  const response = {
    throttleTime: 0,
    clientSideThrottleTime: payload.readInt32BE(0),
    errorCode: payload.readInt16BE(4),
    sessionId: payload.readInt32BE(6),
    responses: []
  }
  let topics = payload.readInt32BE(at)
  at += 4
  for (; topics > 0; topics--) {
    const nameEnd = at + 2 + payload.readInt16BE(at)
    const topicName = payload.toString('utf8', at + 2, nameEnd)
    /** @type {FetchedPartition[]} */
    const partitions = []
    let count = payload.readInt32BE(nameEnd)
    at = nameEnd + 4
    for (; count > 0; count--) {
      const start = at
      const aborted = payload.readInt32BE(start + 30)
      at = start + 34 + 16 * Math.max(0, aborted)
      const preferredReadReplica = payload.readInt32BE(at)
      const recordsAt = at + 4
      at = recordsAt + 4 + Math.max(0, payload.readInt32BE(recordsAt))
      const errorCode = payload.readInt16BE(start + 4)
      if (at === recordsAt + 4 && errorCode === 0 && preferredReadReplica === NO_PREFERENCE) continue
      const messages = await decodeMessages(payload, recordsAt, at, budget)
      if (messages === undefined) continue
      partitions.push({
        partition: payload.readInt32BE(start),
        errorCode,
        highWatermark: int64Text(payload, start + 6),
        lastStableOffset: int64Text(payload, start + 14),
        lastStartOffset: int64Text(payload, start + 22),
        abortedTransactions: abortedTransactions(payload, start + 34, aborted),
        preferredReadReplica,
        messages
      })
    }
    response.responses.push({ topicName, partitions })
  }
  return response
}

/** @param {Buffer} bytes @param {number} at @param {number} count -1: none, like 0 */
const abortedTransactions = (bytes, at, count) => Array.from({ length: Math.max(0, count) }, (_, i) => {
  const place = at + 16 * i
  return { producerId: int64Text(bytes, place), firstOffset: int64Text(bytes, place + 8) }
})

/** @param {Buffer} bytes @param {number} at */
const int64Text = (bytes, at) =>
  bytes.readInt32BE(at) === 0 ? String(bytes.readUInt32BE(at + 4)) : String(bytes.readBigInt64BE(at))

/** @param {Buffer} bytes @param {number} value whole, exact up to 2^53 @param {number} at */
function writeInt64 (bytes, value, at) {
  bytes.writeInt32BE(Math.floor(value / 2 ** 32), at)
  return bytes.writeUInt32BE(value >>> 0, at + 4)
}

/** @param {number} value */
function int16 (value) {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

/** @param {number} value */
function int32 (value) {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** @param {string} text */
const string = (text) => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)])
