import { documentTopic, signalTopic, USER } from './mqtt-topic.js'
import { HEADER } from './headers.js'

/**
 * PUBLISH packets of MQTT 3.1.1 and 5 made from untouched value bytes. All receivers of a record share one packet for
 * each version and quality of service; a copy has another packet id or other flags.
 *
 * @typedef {object} PublishPacket
 * @property {Buffer} bytes
 * @property {number} id 0: none
 * @property {number} idAt where the packet id is written
 */

const PUBLISH = 0x30
const QOS_1 = 0x02
const RETAIN = 0x01
const DUP = 0x08
/** Identifier of a user property (MQTT 5, 3.3.2.3.7). */
const USER_PROPERTY = 0x26

/**
 * @param {string} topic
 * @param {Buffer} payload
 * @param {number} id of the packet, with quality of service 1; 0: quality 0
 * @param {Buffer} [properties] of version 5, with their length
 * @returns {PublishPacket}
 */
export function publishPacket (topic, payload, id, properties) {
  const topicLength = Buffer.byteLength(topic)
  const length = 2 + topicLength + (id > 0 ? 2 : 0) + (properties?.length ?? 0) + payload.length
  const size = sizeOfLength(length)
  const bytes = Buffer.allocUnsafe(1 + size + length)
  bytes[0] = id > 0 ? PUBLISH | QOS_1 : PUBLISH
  let at = writeLength(bytes, 1, length)
  at = writeText(bytes, at, topic)
  const idAt = at
  if (id > 0) at = bytes.writeUInt16BE(id, at)
  if (properties !== undefined) at += properties.copy(bytes, at)
  payload.copy(bytes, at)
  return { bytes, id, idAt }
}

/** @param {Buffer} bytes of a PUBLISH packet @returns {number} its packet id; 0: none */
export function packetIdIn (bytes) {
  if ((bytes[0] & QOS_1) === 0) return 0
  let at = 1
  while (bytes[at++] > 127);
  return bytes.readUInt16BE(at + 2 + bytes.readUInt16BE(at))
}

/**
 * @param {PublishPacket} packet shared
 * @param {number} id of this copy; 0: none
 * @param {{ retain?: boolean, again?: boolean }} flags retain: it answers a new subscription; again: it may have been
 *   sent before
 * @returns {Buffer} a copy for one connection
 */
export function ownPacket ({ bytes, idAt }, id, { retain, again }) {
  const own = Buffer.from(bytes)
  if (retain) own[0] |= RETAIN
  if (again) own[0] |= DUP
  if (id !== 0) own.writeUInt16BE(id, idAt)
  return own
}

/** @param {Record<string, string | undefined>} pairs @returns {Buffer} user properties, with their length */
export function userProperties (pairs) {
  let length = 0
  for (const name in pairs) {
    const value = pairs[name]
    if (value !== undefined) length += 5 + Buffer.byteLength(name) + Buffer.byteLength(value)
  }
  const bytes = Buffer.allocUnsafe(sizeOfLength(length) + length)
  let at = writeLength(bytes, 0, length)
  for (const name in pairs) {
    const value = pairs[name]
    if (value === undefined) continue
    bytes[at] = USER_PROPERTY
    at = writeText(bytes, writeText(bytes, at + 1, name), value)
  }
  return bytes
}

/**
 * Headers of a record, as user properties of version 5.
 * @param {import('./publication.js').Publication} publication
 * @param {number | undefined} offset in the log
 */
export const propertiesOf = ({ event, traceId, traceparent }, offset) => userProperties({
  [HEADER.event]: event,
  [HEADER.offset]: offset?.toString(),
  [HEADER.traceId]: traceId,
  [HEADER.traceparent]: traceparent
})

/**
 * @param {import('./publication.js').Publication} publication
 * @returns {string} the topic of a record: a signal is what a client sends and no log keeps
 */
export function topicOf ({ operator, guid, event, ephemeral, from }) {
  if (operator !== 'broadcast' || guid === undefined) return USER
  return ephemeral && from !== undefined ? signalTopic(guid, event) : documentTopic(guid)
}

/** @param {Buffer} bytes @param {number} at @param {string} text @returns {number} where it ends */
function writeText (bytes, at, text) {
  const length = bytes.write(text, at + 2)
  bytes.writeUInt16BE(length, at)
  return at + 2 + length
}

/** @param {number} length */
const sizeOfLength = (length) => length < 2 ** 7 ? 1 : length < 2 ** 14 ? 2 : length < 2 ** 21 ? 3 : 4

/** @param {Buffer} bytes @param {number} at @param {number} length @returns {number} where it ends */
function writeLength (bytes, at, length) {
  for (; length > 127; length >>>= 7) bytes[at++] = (length & 127) | 128
  bytes[at++] = length
  return at
}
