import { endOfJson, endOfString, space } from './json-walk.js'
import { contentOf, endOf, fieldOf } from './msgpack-walk.js'

/**
 * The original bytes of the `data` that a client sent. Encoding the decoded value again would double the cost, and lose
 * what only the sender's encoder knows (extension types).
 */

/** The `data` of a client whose protocol carries bytes (MQTT), checked. */
export class RawValue {
  /** @param {Buffer} value @param {import('./publication.js').ContentType} contentType */
  constructor (value, contentType) {
    this.value = value
    this.contentType = contentType
  }
}

/** By the decoded `data`, while it is being handled. @type {WeakMap<object, string | Buffer>} */
const packets = new WeakMap()

/**
 * @param {any} args of an event
 * @param {string | Buffer} packet Socket.IO's, that they were decoded from
 */
export function rememberPacket (args, packet) {
  const data = args[1]?.data
  if (typeof data === 'object' && data !== null) packets.set(data, packet)
}

/**
 * @param {unknown} data
 * @returns {string | Buffer | undefined} JSON or msgpack; undefined: it was not remembered, or is nested too deep
 */
export function rawValue (data) {
  if (typeof data !== 'object' || data === null) return undefined
  const packet = packets.get(data)
  if (packet === undefined) return undefined
  return typeof packet === 'string' ? rawJson(packet) : rawMsgpack(packet)
}

/** @param {Buffer} packet checked @returns {Buffer | undefined} */
function rawMsgpack (packet) {
  const args = fieldOf(packet, 0, 'data')
  if (args === undefined) return undefined
  const data = fieldOf(packet, endOf(packet, contentOf(packet, args).begin), 'data')
  return data === undefined ? undefined : packet.subarray(data, endOf(packet, data))
}

/**
 * @param {string} packet `2<id>["event",{…,"data":…}]`, which JSON.parse has read
 * @returns {string | undefined}
 */
function rawJson (packet) {
  let at = space(packet, packet.indexOf('[') + 1)
  at = space(packet, endOfString(packet, at)) // the event's name
  at = space(packet, at + 1) // after the comma
  if (packet[at] !== '{') return undefined
  let found
  do {
    const name = space(packet, at + 1)
    const afterName = endOfString(packet, name)
    const begin = space(packet, space(packet, afterName) + 1)
    const end = endOfJson(packet, begin)
    if (end === -1) return undefined
    const written = packet.slice(name + 1, afterName - 1)
    // a name may be written in another way, and the last one counts
    if (written === 'data' || (written.includes('\\') && JSON.parse(`"${written}"`) === 'data'))
      found = packet.slice(begin, end)
    at = space(packet, end)
  } while (packet[at] === ',')
  return found
}
