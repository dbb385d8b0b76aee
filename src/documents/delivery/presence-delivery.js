import { plainMessage } from '../../wire/packet.js'
import { plainMessageOf } from '../../wire/plain-message.js'
import { encodePacket } from '../../transport/socketio/codec.js'

/**
 * A `doc:presence` event as all its receivers share it: encoded once per codec, and only when a receiver uses that
 * codec. A connection that cannot take it now receives the full list of members later (Backlog), because later events
 * build on this one.
 *
 * @typedef {import('../../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {import('../../wire/packet.js').Codec} Codec
 */
export class PresenceDelivery {
  /** @type {EncodedMessage[] | undefined} */
  #json
  /** @type {EncodedMessage[] | undefined} */
  #msgpack
  /** For plain WebSockets. @type {Partial<Record<Codec, EncodedMessage[]>> | undefined} */
  #plain
  receipt = null
  /** The inspector does not show it. @type {undefined} */
  trace = undefined

  /** @param {string} guid @param {import('../../people/presence/event-payload.js').Payload} payload */
  constructor (guid, payload) {
    this.guid = guid
    this.payload = payload
  }

  /** @param {Codec} codec @returns {EncodedMessage[]} */
  messages (codec) {
    return codec === 'json' ? (this.#json ??= this.#make('json')) : (this.#msgpack ??= this.#make('msgpack'))
  }

  /** No tab is excluded from it. */
  forTabs () { return this }

  /** @param {Codec} codec @returns {EncodedMessage[]} for a plain WebSocket: one */
  plainMessages (codec) {
    this.#plain ??= {}
    return this.#plain[codec] ??=
      [{ ...plainMessageOf(codec, { event: 'doc:presence', payload: this.payload }), guid: this.guid }]
  }

  /** Size of the larger encoding; 0: it was never encoded. */
  get bytes () {
    const made = [this.#json, this.#msgpack, this.#plain?.json, this.#plain?.msgpack]
    return Math.max(...made.map((messages) => messages?.[0].frame.length ?? 0))
  }

  /** @param {Codec} codec */
  #make (codec) {
    return encodePacket(codec, { type: 2, nsp: '/', data: ['doc:presence', this.payload] })
      .map((packet) => ({ ...plainMessage(packet), guid: this.guid }))
  }
}
