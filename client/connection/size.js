import { badValue } from '../common/error.js'
import { utf8Length } from '../common/utf8.js'

/** Socket.IO's number of an event. */
const EVENT = 2
/** Room for the packet's type and for further digits of an acknowledgement's number. */
const MARGIN = 8
/** Limits of the gateway: byte fields of an event in JSON, and levels of a value within its event. */
const MAX_ATTACHMENTS = 10
const MAX_DEPTH = 256 + 2

/**
 * Size of the largest message that an event is sent as. Binary in JSON is sent as separate messages.
 *
 * @param {any} manager Socket.IO's; its encoder is not in its types
 * @param {string} event
 * @param {object} argument
 * @returns {number} bytes; 0 if the encoder is not available
 * @throws {ClientError} bad_value: it cannot be encoded, or the gateway could not decode it
 */
export function packetSize ({ encoder, engine }, event, argument) {
  if (encoder === undefined) return 0
  // long polling encodes it as base64
  const factor = engine?.transport?.name === 'polling' ? 4 / 3 : 1
  /** @type {any[]} */
  let messages
  try {
    messages = encoder.encode({ type: EVENT, nsp: '/', data: [event, argument], id: 0 })
  } catch (cause) {
    throw badValue('cannot be encoded', cause)
  }
  if (typeof messages[0] === 'string') checkJson(messages)
  return MARGIN + Math.max(...messages.map((message) => typeof message === 'string'
    ? utf8Length(message)
    : (message.byteLength ?? message.size) * factor))
}

/**
 * @param {any[]} messages of one event in JSON
 * @throws {ClientError} bad_value: the gateway could not decode it
 */
function checkJson ([text, ...attachments]) {
  const { length } = attachments
  if (length > MAX_ATTACHMENTS) throw badValue(`has more than ${MAX_ATTACHMENTS} byte fields`)
  // the decoder would take such an object for one of the attachments
  if (length && text.split(/[{,]"_placeholder":true/).length > length + 1)
    throw badValue('has bytes and a field `_placeholder`')
  // Engine.IO sends it as text where this class is missing, as in Node
  if (!globalThis.FileReader && attachments.some(({ size }) => size >= 0)) throw badValue('has a Blob')
  if (isDeeper(text)) throw badValue('is nested too deep')
}

/** @param {string} json valid */
function isDeeper (json) {
  let depth = 0
  let quoted = false
  for (let i = 0; i < json.length; i++) {
    const char = json[i]
    if (char === '\\') i++
    else if (char === '"') quoted = !quoted
    else if (!quoted && (char === '[' || char === '{') && ++depth > MAX_DEPTH) return true
    else if (!quoted && (char === ']' || char === '}')) depth--
  }
  return false
}
