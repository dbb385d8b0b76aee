import { utf8Length } from '../common/utf8.js'

/** Socket.IO's number of an event. */
const EVENT = 2
/** Room for the packet's type and for further digits of an acknowledgement's number. */
const MARGIN = 8

/**
 * Size of the largest message that an event is sent as. Binary in JSON is sent as separate messages.
 *
 * @param {any} manager Socket.IO's; its encoder is not in its types
 * @param {string} event
 * @param {object} argument
 * @returns {number} bytes; 0 if the encoder is not available
 */
export function packetSize ({ encoder, engine }, event, argument) {
  if (encoder === undefined) return 0
  // long polling encodes it as base64
  const factor = engine?.transport?.name === 'polling' ? 4 / 3 : 1
  const messages = encoder.encode({ type: EVENT, nsp: '/', data: [event, argument], id: 0 })
  return MARGIN + Math.max(...messages.map((/** @type {any} */ message) => typeof message === 'string'
    ? utf8Length(message)
    : (message.byteLength ?? message.size) * factor))
}
