import { MqttError } from '../../transport/mqtt/packet-reader.js'
import { MAX_TOPIC } from '../../wire/mqtt-topic.js'
import { Reason } from './codes.js'

/**
 * Messages of a client with quality of service 1 that are not answered yet. PUBACKs follow in the order of the messages
 * [MQTT-4.6.0-2], whichever of them is accepted first.
 *
 * @typedef {{ id: number, reason: number | undefined, message?: string }} Slot reason: undefined while it is not known
 */

/** Receive Maximum of the gateway: more messages without an answer end the connection. */
export const MAX_INCOMING = 1000
/** Topic aliases of a client. */
export const MAX_ALIASES = 16

export class Incoming {
  /** @type {Slot[]} */
  #slots = []
  /** @type {Map<number, string> | undefined} */
  #aliases
  #connection

  /** @param {{ answerWith: (packet: object) => void }} connection */
  constructor (connection) { this.#connection = connection }

  /** @param {number} id @returns {Slot} */
  open (id) {
    if (this.#slots.length >= MAX_INCOMING) throw new MqttError(Reason.RECEIVE_MAXIMUM, 'too many messages without an answer')
    const slot = { id, reason: undefined }
    this.#slots.push(slot)
    return slot
  }

  /** @param {Slot} slot @param {number} reason @param {string} [message] */
  answer (slot, reason, message) {
    slot.reason = reason
    slot.message = message
    let known = 0
    for (; known < this.#slots.length && this.#slots[known].reason !== undefined; known++) {
      const { id, reason: reasonCode, message: reasonString } = this.#slots[known]
      const properties = reasonString === undefined ? {} : { properties: { reasonString } }
      this.#connection.answerWith({ cmd: 'puback', messageId: id, reasonCode, ...properties })
    }
    if (known > 0) this.#slots.splice(0, known)
  }

  /**
   * @param {string} topic '': that of the alias
   * @param {number | undefined} alias
   * @returns {string}
   * @throws {MqttError}
   */
  topicOf (topic, alias) {
    if (alias === undefined) {
      if (topic === '') throw new MqttError(Reason.PROTOCOL_ERROR, 'neither a topic nor an alias')
      return topic
    }
    if (alias === 0 || alias > MAX_ALIASES) throw new MqttError(Reason.TOPIC_ALIAS, `the alias is not 1 to ${MAX_ALIASES}`)
    if (topic !== '') {
      // an alias keeps it
      if (topic.length > MAX_TOPIC) throw new MqttError(Reason.TOPIC_NAME, 'the topic of an alias is too long')
      ;(this.#aliases ??= new Map()).set(alias, topic)
      return topic
    }
    const known = this.#aliases?.get(alias)
    if (known === undefined) throw new MqttError(Reason.PROTOCOL_ERROR, 'the alias has no topic')
    return known
  }
}
