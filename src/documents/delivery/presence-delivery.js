import { plainMessage } from '../../wire/packet.js'
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

  /** Size of the larger encoding; 0: it was never encoded. */
  get bytes () {
    return Math.max(...[this.#json, this.#msgpack].map((messages) => messages?.[0].frame.length ?? 0))
  }

  /** @param {Codec} codec */
  #make (codec) {
    return encodePacket(codec, { type: 2, nsp: '/', data: ['doc:presence', this.payload] })
      .map((packet) => ({ ...plainMessage(packet), guid: this.guid }))
  }
}
