import { createRequire } from 'node:module'
import { MALFORMED, MqttError, PROTOCOL_ERROR } from './packet-reader.js'

const require = createRequire(import.meta.url)
const { generate, parser, writeToStream } = require('mqtt-packet')

/**
 * Decodes and encodes packets with mqtt-packet, and checks what it leaves to its users.
 *
 * @typedef {4 | 5} Version 4: MQTT 3.1.1
 * @typedef {import('mqtt-packet').Packet} Packet
 * @typedef {import('mqtt-packet').IConnectPacket} Connect
 */

// it would keep a buffer for each number of two bytes, 10 MB
writeToStream.cacheNumbers = false

/** A PUBACK of success: its flags are 0, and after the packet id version 5 may have the reason, and no properties. */
const PUBACK = 0x40
const PLAIN_PUBACK = { least: 4, most: 6, idAt: 2 }

/** Types of packets, the first four bits. */
export const Type = Object.freeze({
  CONNECT: 1, PUBLISH: 3, PUBACK: 4, SUBSCRIBE: 8, UNSUBSCRIBE: 10, PINGREQ: 12, DISCONNECT: 14, AUTH: 15
})

/**
 * Properties of version 5 that a client may send, by type of packet (MQTT 5, 2.2.2.2).
 * @type {Record<string, string[]>}
 */
const PROPERTIES = {
  connect: [
    'sessionExpiryInterval', 'receiveMaximum', 'maximumPacketSize', 'topicAliasMaximum', 'requestResponseInformation',
    'requestProblemInformation', 'userProperties', 'authenticationMethod', 'authenticationData'
  ],
  will: [
    'willDelayInterval', 'payloadFormatIndicator', 'messageExpiryInterval', 'contentType', 'responseTopic',
    'correlationData', 'userProperties'
  ],
  publish: [
    'payloadFormatIndicator', 'messageExpiryInterval', 'topicAlias', 'responseTopic', 'correlationData',
    'userProperties', 'contentType'
  ],
  puback: ['reasonString', 'userProperties'],
  subscribe: ['subscriptionIdentifier', 'userProperties'],
  unsubscribe: ['userProperties'],
  disconnect: ['sessionExpiryInterval', 'reasonString', 'userProperties']
}
/** Properties that must not be 0. */
const NOT_ZERO = ['receiveMaximum', 'maximumPacketSize']

/** The character in place of bytes that are not UTF-8; a text may also have it itself. */
const REPLACEMENT = '\ufffd'
/**
 * Texts of user properties that are searched for in their packet. The decoder does not keep their order, so that each
 * search may go through the whole packet.
 */
const MAX_SEARCHES = 32

const NAME = 'MQTT'
/** Name with its length, version, flags, keep-alive. */
const LEAST = 2 + NAME.length + 4
const USERNAME = 0x80
const PASSWORD = 0x40
const QOS_3 = 0x18
const WILL = 0x04

/** A client of another version of MQTT. */
export class OtherVersion extends Error {}

/** One parser for all connections of a version: each packet comes in one piece. */
class Decoder {
  /** @type {Packet | undefined} */
  #packet
  /** @type {Error | undefined} */
  #error
  #parser
  #settings

  /** @param {{ protocolVersion?: Version }} settings */
  constructor (settings) {
    this.#settings = settings
    this.#parser = parser(settings)
      .on('packet', (packet) => { this.#packet = packet })
      .on('error', (error) => { this.#error = error })
  }

  /** @param {Buffer} bytes of one packet @returns {Packet} with views of them @throws {Error} */
  decode (bytes) {
    this.#packet = this.#error = undefined
    this.#parser.parse(bytes)
    if (this.#error !== undefined) throw this.#error
    const packet = /** @type {Packet | undefined} */ (this.#packet)
    if (packet === undefined) throw new Error('not a packet')
    this.#packet = undefined
    // the parser would keep the last CONNECT, its version and its password
    if (packet.cmd === 'connect') /** @type {any} */ (this.#parser).settings = this.#settings
    return packet
  }
}

/** Decodes the packets of all connections of a door. */
export class PacketDecoder {
  /** @type {Partial<Record<Version | 'connect', Decoder>>} */
  #decoders = {}

  /**
   * A parser for each would be a stream and an emitter for one packet.
   * @param {Buffer} bytes of a CONNECT whose version is known
   * @returns {any} with views of the bytes
   * @throws {MqttError}
   */
  connect (bytes) { return this.#decode('connect', bytes) }

  /**
   * @param {Buffer} bytes of a packet after CONNECT
   * @param {Version} version
   * @returns {Packet} with views of the bytes
   * @throws {MqttError}
   */
  decode (bytes, version) {
    const packet = this.#decode(version, bytes)
    checkProperties(packet.cmd, /** @type {any} */ (packet).properties, bytes)
    checkPacket(packet, bytes, version)
    return packet
  }

  /** @param {Version | 'connect'} kind @param {Buffer} bytes @returns {Packet} @throws {MqttError} */
  #decode (kind, bytes) {
    const decoder = this.#decoders[kind] ??= new Decoder(kind === 'connect' ? {} : { protocolVersion: kind })
    try {
      return decoder.decode(bytes)
    } catch (error) {
      // it may be in the middle of a packet
      this.#decoders[kind] = undefined
      throw new MqttError(MALFORMED, /** @type {Error} */ (error).message)
    }
  }
}

/**
 * @param {Buffer} chunk
 * @param {number} from where a packet begins in it
 * @param {number} to
 * @returns {number} packet id of an acknowledgement without a word; 0: it is another packet
 */
export function plainPuback (chunk, from, to) {
  const { least, most, idAt } = PLAIN_PUBACK
  const length = to - from
  if (chunk[from] !== PUBACK || length < least || length > most || chunk[from + 1] !== length - idAt) return 0
  for (let at = from + least; at < to; at++) if (chunk[at] !== 0) return 0
  return chunk[from + idAt] << 8 | chunk[from + idAt + 1]
}

/**
 * @param {Buffer} bytes of the first packet
 * @param {PacketDecoder} decoder
 * @returns {Connect & { protocolVersion: Version }}
 * @throws {MqttError | OtherVersion}
 */
export function decodeConnect (bytes, decoder) {
  if (bytes[0] >> 4 !== Type.CONNECT) throw new MqttError(PROTOCOL_ERROR, 'the first packet is not CONNECT')
  // behind the length: the name with its length, the version, and the flags
  let at = 1
  while (bytes[at++] > 127);
  if (bytes.length < at + LEAST) throw new MqttError(MALFORMED, 'CONNECT is too short')
  const named = bytes.toString('latin1', at + 2, at + 2 + NAME.length) === NAME && bytes.readUInt16BE(at) === NAME.length
  const version = bytes[at + 2 + NAME.length]
  if (named ? version !== 4 && version !== 5 : bytes.includes('MQIsdp')) throw new OtherVersion()
  const flags = bytes[at + 3 + NAME.length]
  if (version === 4 && (flags & PASSWORD) !== 0 && (flags & USERNAME) === 0)
    throw new MqttError(MALFORMED, 'a password without a user name') // [MQTT-3.1.2-22]
  if ((flags & QOS_3) === QOS_3) throw new MqttError(MALFORMED, 'the quality of service of the will is 3')
  const packet = decoder.connect(bytes)
  if (endOfFields(bytes, at + LEAST, flags, version === 5) !== bytes.length)
    throw new MqttError(MALFORMED, 'CONNECT has a field more than its flags say') // [MQTT-3.1.2-18] [MQTT-3.1.2-20]
  checkProperties('connect', packet.properties, bytes)
  checkProperties('will', packet.will?.properties, bytes)
  for (const field of [packet.clientId, packet.username, packet.will?.topic]) checkText(field, bytes)
  return packet
}

/**
 * @param {Buffer} bytes of a CONNECT that was decoded
 * @param {number} at where its fields begin
 * @param {number} flags
 * @param {boolean} hasProperties
 * @returns {number} where the fields end that the flags name
 */
function endOfFields (bytes, at, flags, hasProperties) {
  const field = () => { at += 2 + bytes.readUInt16BE(at) }
  const properties = () => {
    if (!hasProperties) return
    let length = 0
    let size = 0
    do length += (bytes[at] & 127) * 128 ** size++
    while (bytes[at++] > 127)
    at += length
  }
  properties()
  field()
  if ((flags & WILL) !== 0) {
    properties()
    field()
    field()
  }
  if ((flags & USERNAME) !== 0) field()
  if ((flags & PASSWORD) !== 0) field()
  return at
}

/**
 * @param {string} of
 * @param {Record<string, any> | undefined} properties
 * @param {Buffer} bytes that they come from
 * @throws {MqttError}
 */
function checkProperties (of, properties, bytes) {
  for (const name in properties) {
    const value = properties[name]
    if (!PROPERTIES[of]?.includes(name)) throw new MqttError(PROTOCOL_ERROR, `${of} has no property ${name}`)
    if (value === null || value === undefined || value === -1) throw new MqttError(MALFORMED, `${name} cannot be read`)
    if (Array.isArray(value)) throw new MqttError(PROTOCOL_ERROR, `${name} comes twice`)
    if (value === 0 && NOT_ZERO.includes(name)) throw new MqttError(PROTOCOL_ERROR, `${name} is 0`)
    if (typeof value === 'string') checkText(value, bytes)
    else if (name === 'userProperties') checkUserProperties(value, bytes)
  }
}

/** @param {any} packet @param {Buffer} bytes @param {Version} version @throws {MqttError} */
function checkPacket (packet, bytes, version) {
  const { cmd, messageId, topic, qos, dup, length } = packet
  if (cmd === 'pingreq' && length > 0) throw new MqttError(MALFORMED, 'PINGREQ has nothing in it')
  const hasId = cmd === 'subscribe' || cmd === 'unsubscribe' || cmd === 'puback' || (cmd === 'publish' && qos > 0)
  if (hasId && !(messageId > 0)) throw new MqttError(MALFORMED, 'a packet without an id') // [MQTT-2.3.1-1]
  if (cmd === 'publish') {
    if (qos === 0 && dup) throw new MqttError(MALFORMED, 'DUP of a message with quality of service 0') // [MQTT-3.3.1-2]
    if (topic === '' && version === 4) throw new MqttError(MALFORMED, 'the topic is empty')
    checkText(topic, bytes)
  } else if (cmd === 'subscribe' || cmd === 'unsubscribe') {
    const topics = packet.unsubscriptions ?? packet.subscriptions.map((/** @type {any} */ one) => one.topic)
    if (topics.length === 0) throw new MqttError(PROTOCOL_ERROR, 'no topic') // [MQTT-3.8.3-3] [MQTT-3.10.3-2]
    // in the order of the packet, so that all searches together go through it once
    let at = 0
    for (const one of topics) {
      if (one === '') throw new MqttError(MALFORMED, 'a topic is empty') // [MQTT-4.7.3-1]
      at = checkText(one, bytes, at)
    }
  }
}

/** @param {Record<string, any>} properties by name @param {Buffer} bytes @throws {MqttError} [MQTT5-1.5.7-1] */
function checkUserProperties (properties, bytes) {
  let searches = 0
  for (const text of Object.entries(properties).flat(2)) {
    if (typeof text !== 'string') throw new MqttError(MALFORMED, 'a user property cannot be read')
    if (text.includes(REPLACEMENT) && ++searches > MAX_SEARCHES)
      throw new MqttError(MALFORMED, 'too many user properties have a replacement character')
    checkText(text, bytes)
  }
}

/**
 * @param {string | undefined} text
 * @param {Buffer} bytes that it comes from
 * @param {number} [from] where the search for it begins, if it needs one
 * @returns {number} where the search ended; without one, where it would begin
 * @throws {MqttError} it has a null character, or was no UTF-8 [MQTT-1.5.3-1] [MQTT-1.5.3-2]
 */
function checkText (text, bytes, from = 0) {
  if (text === undefined) return from
  const searched = text.includes(REPLACEMENT)
  const at = searched ? bytes.indexOf(text, from) : from
  if (at === -1 || text.includes('\0')) throw new MqttError(MALFORMED, 'a text is not valid UTF-8')
  return searched ? at + Buffer.byteLength(text) : from
}

/**
 * @param {Packet} packet
 * @param {Version} version
 * @returns {Buffer}
 */
export const encodePacket = (packet, version) => generate(packet, { protocolVersion: version })
