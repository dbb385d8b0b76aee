import { decodeValue, jsonMessage, msgpackMessage, plainMessage } from '../wire/packet.js'
import { encodeMsgpack } from '../wire/msgpack.js'
import { encodePacket } from './codec.js'

/**
 * What all members share of one record on this worker: its messages, made once per codec and only if somebody
 * speaks it. The value is spliced in as it came; only a client of the other codec makes it be transcoded.
 *
 * @typedef {import('../bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {import('../wire/packet.js').Codec} Codec
 */

export class Delivery {
  /** @type {EncodedMessage[] | undefined} */
  #json
  /** @type {EncodedMessage[] | undefined} */
  #msgpack

  /**
   * @param {import('../wire/publication.js').Publication} publication
   * @param {number} offset 0: no place in a log
   */
  constructor (publication, offset) {
    this.publication = publication
    this.meta = metaOf(publication, offset)
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} more than one only for JSON with binary attachments */
  messages (codec) {
    return codec === 'json' ? this.#json ??= this.#makeJson() : this.#msgpack ??= this.#makeMsgpack()
  }

  /** The payload as JavaScript, for the public path. */
  get payload () {
    return decodeValue(this.publication.value, this.publication.contentType)
  }

  #makeJson () {
    const { event, value, contentType } = this.publication
    if (contentType === 'application/json') return [jsonMessage(event, value, this.meta)]
    // msgpack may hold binary, which JSON clients get as attachments; the stock encoder knows how
    return encodePacket('json', { type: 2, nsp: '/', data: [event, this.payload, this.meta] }).map(plainMessage)
  }

  #makeMsgpack () {
    const { event, value, contentType } = this.publication
    return [msgpackMessage(event, contentType === 'application/msgpack' ? value : encodeMsgpack(this.payload), this.meta)]
  }
}

/**
 * The second argument of every event. What is not known is left out.
 * @param {import('../wire/publication.js').Publication} publication
 * @param {number} offset
 */
function metaOf (publication, offset) {
  return {
    ...(publication.guid === undefined ? {} : { guid: publication.guid }),
    ...(offset === 0 ? {} : { offset }),
    traceId: publication.traceId,
    ts: publication.timestamp,
    ...(publication.from === undefined ? {} : { from: publication.from })
  }
}
