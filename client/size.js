/** Socket.IO's number of an event. */
const EVENT = 2
/** The packet's type, and more digits of an acknowledgement's number than were counted. */
const MARGIN = 8

/**
 * How large the largest message is that an event is sent as. Binary in JSON is sent as messages of its own.
 *
 * @param {any} manager Socket.IO's; its encoder is not in its types
 * @param {string} event
 * @param {object} argument
 * @returns {number} bytes; 0 where the encoder cannot be had
 */
export function packetSize ({ encoder, engine }, event, argument) {
  if (encoder === undefined) return 0
  // long polling has it as base64
  const factor = engine?.transport?.name === 'polling' ? 4 / 3 : 1
  const messages = encoder.encode({ type: EVENT, nsp: '/', data: [event, argument], id: 0 })
  return MARGIN + Math.max(...messages.map((/** @type {any} */ message) => typeof message === 'string'
    ? utf8Length(message)
    : (message.byteLength ?? message.size) * factor))
}

const encoder = new TextEncoder()
/** @param {string} text @returns {number} bytes */
export const utf8Length = (text) => encoder.encode(text).length
