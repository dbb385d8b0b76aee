import { decodeValue, jsonMessage, msgpackMessage, plainMessage } from '../wire/packet.js'
import { encodeMsgpack } from '../wire/msgpack.js'
import { encodePacket } from '../socketio/codec.js'

/**
 * What all members share of one record on this worker: its messages, made once per codec and only if somebody
 * speaks it. The value is spliced in as it came; only a client of the other codec makes it be transcoded.
 *
 * @typedef {import('../bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {import('../wire/packet.js').Codec} Codec
 */

/** Socket.IO's JSON decoder takes no more (socket.io-parser, maxAttachments): it would end the connection. */
const MAX_ATTACHMENTS = 10

export class Delivery {
  /** @type {EncodedMessage[] | undefined} */
  #json
  /** @type {EncodedMessage[] | undefined} */
  #msgpack

  /**
   * @param {import('../wire/publication.js').Publication} publication
   * @param {number} offset 0: no place in a log
   * @param {import('../receipts/receipt.js').Receipt | null} [receipt] who gets it is asked for an acknowledgement
   */
  constructor (publication, offset, receipt = null) {
    this.publication = publication
    this.receipt = receipt
    this.meta = metaOf(publication, offset)
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} more than one only for JSON with binary attachments */
  messages (codec) {
    return codec === 'json' ? this.#json ??= this.#makeJson() : this.#msgpack ??= this.#makeMsgpack()
  }

  #makeJson () {
    const { event, value, contentType } = this.publication
    const ackId = this.receipt?.ackId
    if (contentType === 'application/json') return [jsonMessage(event, value, this.meta, ackId)]
    // msgpack may hold binary, which JSON clients get as attachments; the stock encoder knows how
    const payload = decodeValue(value, contentType)
    const attachments = countAttachments(payload)
    if (attachments > 0 && attachments <= MAX_ATTACHMENTS)
      return encodePacket('json', { type: 2, nsp: '/', data: [event, payload, this.meta], id: ackId }).map(plainMessage)
    return [jsonMessage(event, Buffer.from(JSON.stringify(payload, binaryAsText)), this.meta, ackId)]
  }

  #makeMsgpack () {
    const { event, value, contentType } = this.publication
    return [
      msgpackMessage(
        event,
        contentType === 'application/msgpack' ? value : encodeMsgpack(decodeValue(value, contentType)),
        this.meta,
        this.receipt?.ackId
      )
    ]
  }
}

/**
 * @param {any} value
 * @returns {number} Infinity if something looks like the placeholder of an attachment, which the client would refuse
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
 * Replacer for JSON.stringify that makes base64 of binary.
 * @this {any} @param {string} key @param {unknown} value
 */
function binaryAsText (key, value) {
  // a Buffer has been replaced by its toJSON already
  const binary = this[key]
  return ArrayBuffer.isView(binary)
    ? Buffer.from(binary.buffer, binary.byteOffset, binary.byteLength).toString('base64')
    : value
}

/**
 * The second argument of every event. What is not known is left out.
 * @param {import('../wire/publication.js').Publication} publication
 * @param {number} offset
 */
function metaOf ({ guid, traceId, timestamp, from }, offset) {
  /** @type {{ guid?: string, offset?: number, traceId?: string, ts?: number, from?: string }} */
  const meta = {}
  if (guid !== undefined) meta.guid = guid
  if (offset !== 0) meta.offset = offset
  meta.traceId = traceId
  meta.ts = timestamp
  if (from !== undefined) meta.from = from
  return meta
}
