import { plainMessage } from '../wire/packet.js'
import { encodePacket } from '../socketio/codec.js'

/**
 * A `doc:presence` event as its members share it: its message, made once per codec and only if somebody speaks it.
 * Where a connection cannot take it now it is told the list later (Backlog), because what comes after it builds on it.
 *
 * @typedef {import('../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {import('../wire/packet.js').Codec} Codec
 */
export class PresenceDelivery {
  /** @type {EncodedMessage[] | undefined} */
  #json
  /** @type {EncodedMessage[] | undefined} */
  #msgpack
  receipt = null

  /** @param {string} guid @param {import('../presence/event-payload.js').Payload} payload */
  constructor (guid, payload) {
    this.guid = guid
    this.payload = payload
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} */
  messages (codec) {
    return codec === 'json' ? (this.#json ??= this.#make('json')) : (this.#msgpack ??= this.#make('msgpack'))
  }

  /** Of the larger one; 0: nobody took it. */
  get bytes () {
    return Math.max(...[this.#json, this.#msgpack].map((messages) => messages?.[0].frame.length ?? 0))
  }

  /** @param {Codec} codec */
  #make (codec) {
    return encodePacket(codec, { type: 2, nsp: '/', data: ['doc:presence', this.payload] }).map(plainMessage)
  }
}
