import { crc32 } from 'node:zlib'
import { propertiesOf, publishPacket, topicOf } from '../../wire/mqtt-message.js'
import { MAX_ID } from './in-flight.js'

/**
 * @typedef {import('../../documents/delivery/delivery.js').Delivery} Delivery
 *
 * @typedef {object} Form
 * @property {import('../../wire/mqtt-message.js').PublishPacket} packet
 * @property {import('../../wire/packet.js').EncodedMessage[]} messages the packet as it is queued
 */

/** Of packets with quality of service 0. */
export const NO_ID = 0

/** A record for clients of MQTT: what follows from it alone is made once, and all its receivers share it. */
class RecordForms {
  /** By version and quality of service. @type {(Form | undefined)[]} */
  #forms = [undefined, undefined, undefined, undefined]
  #delivery

  /** @param {Delivery} delivery */
  constructor (delivery) {
    const { publication, meta, receipt } = delivery
    const { guid } = publication
    this.#delivery = delivery
    this.topic = topicOf(publication)
    /** In the log of its document or user; undefined: no log keeps it. */
    this.offset = meta.offset ?? meta.user?.offset
    /** With quality of service 1. @type {import('./in-flight.js').Record | undefined} */
    this.record = this.offset === undefined
      ? undefined
      : { id: idOf(guid, this.offset), guid, offset: this.offset, ackId: receipt?.ackId }
  }

  /** @param {import('../../transport/mqtt/packets.js').Version} version @param {0 | 1} qos @returns {Form} */
  form (version, qos) { return this.#forms[version === 5 ? 2 + qos : qos] ??= this.#make(version, qos) }

  /** @param {import('../../transport/mqtt/packets.js').Version} version @param {0 | 1} qos @returns {Form} */
  #make (version, qos) {
    const { publication, trace } = this.#delivery
    const properties = version === 5 ? propertiesOf(publication, this.offset) : undefined
    const id = qos === 1 ? this.record?.id ?? NO_ID : NO_ID
    const packet = publishPacket(this.topic, this.#delivery.valueAsJson(), id, properties)
    const guid = publication.operator === 'broadcast' ? publication.guid : undefined
    return { packet, messages: [{ data: packet.bytes, frame: packet.bytes, guid, trace }] }
  }
}

/** @param {Delivery} delivery */
const makeForms = (delivery) => new RecordForms(delivery)

/** @param {Delivery} delivery @returns {RecordForms} the same for all receivers */
export const formsOf = (delivery) => delivery.made(makeForms)

/**
 * The packet id that receivers of a record have in common, so that they share its bytes. Records of one log have the
 * same only 65,535 records apart; of several logs rarely.
 * @param {string | undefined} guid
 * @param {number} offset
 */
const idOf = (guid = '', offset) => (crc32(guid) + offset) % MAX_ID + 1
