import { decodeValue, jsonMessage, msgpackMessage, plainMessage } from '../../wire/packet.js'
import { encodeMsgpack } from '../../wire/msgpack.js'
import { bytesAsText, plainJson, plainMsgpack, plainText } from '../../wire/plain-message.js'
import { encodePacket } from '../../transport/socketio/codec.js'

/**
 * One record as all its receivers on this worker share it: the messages are encoded once per codec, and only when a
 * receiver uses that codec. The value is spliced in unchanged; it is transcoded only for clients of the other codec.
 *
 * @typedef {import('../../log/bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {import('../../wire/packet.js').Codec} Codec
 */

/** Limit of Socket.IO's JSON decoder, which would close the connection (socket.io-parser, maxAttachments). */
export const MAX_ATTACHMENTS = 10

export class Delivery {
  /** @type {EncodedMessage[] | undefined} */
  #json
  /** @type {EncodedMessage[] | undefined} */
  #msgpack
  /** For plain WebSockets. @type {Partial<Record<Codec, EncodedMessage[]>> | undefined} */
  #plain
  /** For MQTT. @type {{} | undefined} */
  #made
  /** @type {import('../../observe/metrics/points.js').DeliveryTrace | undefined} */
  trace = undefined

  /**
   * @param {import('../../wire/publication.js').Publication} publication
   * @param {number} offset 0: not in a log
   * @param {import('../receipts/receipt.js').Receipt | null} [receipt] requests an acknowledgement from each receiver
   * @param {number} [after] see BusRecord
   * @param {string} [epoch] see BusRecord; only records of a user's log name it
   */
  constructor (publication, offset, receipt = null, after, epoch) {
    this.publication = publication
    this.receipt = receipt
    /** For clients that a sampled receipt does not ask: the record as it is without one. @type {Delivery} */
    this.plain = receipt?.sampled ? new Delivery(publication, offset, null, after, epoch) : this
    /** @type {ReturnType<typeof metaOfKept>} */
    this.meta = publication.keep ? metaOfKept(publication, offset, after, epoch) : metaOf(publication, offset, after)
    if (receipt?.sampled) this.meta.sampled = true
  }

  /**
   * @param {{ metaOf: (except: string[]) => { except?: string[] } }} tabs that share the connection of a receiver
   * @returns {Delivery} with the tabs that the record excludes
   */
  forTabs (tabs) {
    const { except } = tabs.metaOf(this.publication.except)
    if (except === undefined) return this
    const delivery = new Delivery(this.publication, 0, this.receipt)
    delivery.meta = { ...this.meta, except }
    delivery.trace = this.trace
    return delivery
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} more than one only for JSON with binary attachments */
  messages (codec) {
    return codec === 'json'
      ? this.#json ??= this.#named(this.#makeJson())
      : this.#msgpack ??= this.#named(this.#makeMsgpack())
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} for a plain WebSocket: one */
  plainMessages (codec) {
    this.#plain ??= {}
    return this.#plain[codec] ??= this.#named([this.#makePlain(codec)])
  }

  /**
   * The record for another protocol (MQTT), made once for all its clients.
   * @template {{}} T
   * @param {(delivery: Delivery) => T} make always the same
   * @returns {T}
   */
  made (make) { return /** @type {T} */ (this.#made ??= make(this)) }

  /** @returns {Buffer} the value as JSON, with bytes as base64 */
  valueAsJson () {
    const { value, contentType } = this.publication
    return contentType === 'application/json' ? value : Buffer.from(plainText(decodeValue(value, contentType)))
  }

  /** @param {Codec} codec */
  #makePlain (codec) {
    const { event } = this.publication
    const ackId = this.receipt?.ackId
    return codec === 'msgpack'
      ? plainMsgpack(event, this.#valueAsMsgpack(), this.meta, ackId)
      : plainJson(event, this.valueAsJson(), this.meta, ackId)
  }

  #valueAsMsgpack () {
    const { value, contentType } = this.publication
    return contentType === 'application/msgpack' ? value : encodeMsgpack(decodeValue(value, contentType))
  }

  /** @param {EncodedMessage[]} messages */
  #named (messages) {
    const { operator, guid } = this.publication
    if (operator === 'broadcast') for (const message of messages) message.guid = guid
    return messages
  }

  #makeJson () {
    const { event, value, contentType } = this.publication
    const ackId = this.receipt?.ackId
    if (contentType === 'application/json') return [jsonMessage(event, value, this.meta, ackId)]
    // msgpack may contain binary, which JSON clients receive as attachments; use the stock encoder for them
    const { payload, attachments } = payloadFor('json', this.publication)
    if (attachments > 0)
      return encodePacket('json', { type: 2, nsp: '/', data: [event, payload, this.meta], id: ackId }).map(plainMessage)
    return [jsonMessage(event, Buffer.from(JSON.stringify(payload)), this.meta, ackId)]
  }

  #makeMsgpack () {
    return [msgpackMessage(this.publication.event, this.#valueAsMsgpack(), this.meta, this.receipt?.ackId)]
  }
}

/**
 * The payload of a record for a message that Socket.IO encodes.
 *
 * @param {Codec} codec of the client
 * @param {Pick<import('../../wire/publication.js').Publication, 'value' | 'contentType'>} publication
 * @returns {{ payload: any, attachments: number }} attachments: messages with binary that JSON clients get beside it.
 *   If they would be too many, the payload has the binary as base64
 */
export function payloadFor (codec, { value, contentType }) {
  const payload = decodeValue(value, contentType)
  if (codec === 'msgpack' || contentType === 'application/json') return { payload, attachments: 0 }
  const attachments = countAttachments(payload)
  return attachments <= MAX_ATTACHMENTS
    ? { payload, attachments }
    : { payload: JSON.parse(JSON.stringify(payload, bytesAsText)), attachments: 0 }
}

/**
 * @param {any} value
 * @returns {number} Infinity if a part looks like the placeholder of an attachment, which the client would refuse
 */
function countAttachments (value) {
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return 1
  if (value._placeholder === true) return Infinity
  let count = 0
  for (const item of Object.values(value)) count += countAttachments(item)
  return count
}

/**
 * The second argument of every event. Unknown fields are omitted.
 * @param {import('../../wire/publication.js').Publication} publication
 * @param {number} offset
 * @param {number | undefined} after
 */
function metaOf ({ guid, traceId, traceparent, timestamp, from }, offset, after) {
  /**
   * @type {{ guid?: string, offset?: number, after?: number, traceId?: string, traceparent?: string, ts?: number,
   *   from?: string, sampled?: true, except?: string[] }}
   */
  const meta = {}
  if (guid !== undefined) meta.guid = guid
  if (offset !== 0) meta.offset = offset
  if (after !== undefined) meta.after = after
  meta.traceId = traceId
  if (traceparent !== undefined) meta.traceparent = traceparent
  meta.ts = timestamp
  if (from !== undefined) meta.from = from
  return meta
}

/**
 * The second argument of events of a user's log.
 * @param {import('../../wire/publication.js').Publication} publication
 * @param {number} offset 0: for connections that do not read the log
 * @param {number | undefined} after
 * @param {string | undefined} epoch
 * @returns {ReturnType<typeof metaOf> & { user?: { epoch?: string, offset: number, after?: number } }}
 */
function metaOfKept (publication, offset, after, epoch) {
  const meta = metaOf(publication, 0, undefined)
  if (offset === 0) return meta
  return { ...meta, user: after === undefined ? { epoch, offset } : { epoch, offset, after } }
}
