/**
 * The delivered message: the 500 byte presence message of existing systems,
 * `42["message",{…,"clients":[…],"userCount":…}]`. Document, number and time come first and always have the same number
 * of digits, so that the checker reads them without decoding, and a server that splices bytes sends the same as one
 * that decodes and re-encodes them.
 */

/** Size of the Socket.IO packet without a server's metadata. */
export const MESSAGE_BYTES = 500

const PACKET_HEAD = '42["message",'
const VALUE_BYTES = MESSAGE_BYTES - PACKET_HEAD.length - 1

/** Added to each number: JSON allows no leading zeros. */
const OFFSET = 1_000_000
const TIME_OFFSET = 1_000_000_000_000_000

const HEAD = `{"document":${OFFSET},"sequence":${OFFSET},"at":${TIME_OFFSET},`
const DOCUMENT_AT = HEAD.indexOf(':') + 1
const SEQUENCE_AT = HEAD.indexOf(':', DOCUMENT_AT) + 1
const TIME_AT = HEAD.indexOf(':', SEQUENCE_AT) + 1

const TEMPLATE = Buffer.from(template())

function template () {
  const tail = '],"userCount":9}'
  const clients = []
  const client = (/** @type {number} */ n) => JSON.stringify({ id: `client-${n}`, name: `User ${n}`, color: '#3366cc' })
  while (
    HEAD.length + '"clients":['.length + [...clients, client(clients.length)].join(',').length + tail.length <=
    VALUE_BYTES - 10
  )
    clients.push(client(clients.length))
  const text = `${HEAD}"clients":[${clients.join(',')}${tail}`
  // pads the last name to the full size
  const padded = text.replace(
    `User ${clients.length - 1}"`,
    (name) => `${name.slice(0, -1)}${'x'.repeat(VALUE_BYTES - text.length)}"`
  )
  if (padded.length !== VALUE_BYTES) throw new Error(`the message has ${padded.length} bytes`)
  return padded
}

/** @returns {number} microseconds on a clock that all processes of this machine share */
export function now () {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + nanoseconds / 1e3
}

/**
 * @param {number} document number, below 9,000,000
 * @param {number} sequence number of the record within its document, from 1, below 9,000,000
 * @param {number} at microseconds, as of `now`
 * @returns {Buffer} the value of a record, JSON
 */
export function valueOf (document, sequence, at) {
  const value = Buffer.from(TEMPLATE)
  value.write(String(OFFSET + document), DOCUMENT_AT, 'latin1')
  value.write(String(OFFSET + sequence), SEQUENCE_AT, 'latin1')
  value.write(String(TIME_OFFSET + Math.floor(at)), TIME_AT, 'latin1')
  return value
}

const [BRACE] = Buffer.from('{')
const [ZERO] = Buffer.from('0')

/**
 * @param {Buffer} packet raw, by default `42["message",{…`
 * @param {number} [at] place of the value in it
 * @returns {{ document: number, sequence: number, at: number } | null} null: another event
 */
export function readRecord (packet, at = PACKET_HEAD.length) {
  if (packet.length < at + VALUE_BYTES || packet[at] !== BRACE) return null
  const document = digits(packet, at + DOCUMENT_AT, 7) - OFFSET
  const sequence = digits(packet, at + SEQUENCE_AT, 7) - OFFSET
  const time = digits(packet, at + TIME_AT, 16) - TIME_OFFSET
  return document >= 0 && sequence > 0 && time > 0 ? { document, sequence, at: time } : null
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} count
 * @returns {number} NaN when there are other characters
 */
function digits (bytes, from, count) {
  let number = 0
  for (let at = from; at < from + count; at++) {
    const digit = bytes[at] - ZERO
    if (digit < 0 || digit > 9) return NaN
    number = number * 10 + digit
  }
  return number
}
