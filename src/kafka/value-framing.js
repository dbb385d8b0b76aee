import { InkcastError } from '../base/common/errors.js'

/**
 * The framing of a schema registry (Confluent's wire format): a byte 0, and the id of the schema in four bytes. The
 * values behind it stay as they are.
 *
 * @typedef {'none' | 'confluent-json'} ValueFraming KAFKA_VALUE_FRAMING
 * @typedef {Pick<import('../wire/publication.js').Publication, 'value' | 'contentType'>} Framed
 */

const LENGTH = 5
/** Of records that inkcast writes itself: no schema has this id. */
const NO_SCHEMA = Buffer.alloc(LENGTH)
/** Bytes with which a JSON text may begin (RFC 8259, section 2). */
const JSON_STARTS = new Set(Buffer.from(' \t\r\n{["-0123456789tfn'))

/** An order has no value, and msgpack no schema. @param {Framed} publication */
const isFramed = ({ value, contentType }) => value.length > 0 && contentType === 'application/json'

/** @param {Framed} publication @returns {Buffer} the value as the topic has it */
export const framed = (publication) =>
  isFramed(publication) ? Buffer.concat([NO_SCHEMA, publication.value]) : publication.value

/**
 * @param {Framed} publication
 * @returns {Buffer} the value
 * @throws {InkcastError} bad_value
 */
export function unframed (publication) {
  const { value } = publication
  if (!isFramed(publication)) return value
  if (value.length <= LENGTH || value[0] !== 0)
    throw new InkcastError('bad_value', 'the value does not begin with the framing of a schema registry (00, and 4 bytes of the ' +
      'schema\'s id), which KAFKA_VALUE_FRAMING=confluent-json expects')
  if (!JSON_STARTS.has(value[LENGTH]))
    throw new InkcastError('bad_value', 'behind the framing of the schema registry is no JSON: Avro and Protobuf are not supported, ' +
      'use the serializer of JSON Schema')
  return value.subarray(LENGTH)
}
