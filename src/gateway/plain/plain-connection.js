import { plainMessageOf } from '../../wire/plain-message.js'
import { Connection } from '../connection.js'

/** The connection of a client of the plain WebSocket protocol (docs/websocket.md). It is in no room of extensions. */
export class PlainConnection extends Connection {
  /** @override */
  get open () { return this.conn.readyState === 'open' }

  /** @override @param {string} event @param {object} payload */
  send (event, payload) { this.#write({ event, payload }) }

  /** @override */
  endSession () { this.conn.close() }

  /** @override @param {import('../connection.js').Delivered} delivery */
  messagesOf (delivery) { return delivery.plainMessages(this.codec) }

  /** @override @param {import('../queued-packets.js').Packet} queued */
  requestOf ({ options }) { return options?.answers }

  /** @override @param {number} id @param {object} answer */
  answer (id, answer) { this.#write({ id, payload: answer }, id) }

  /** @param {object} message @param {number} [answers] id of the request that it answers */
  #write (message, answers) {
    this.conn.write(undefined, { wsPreEncodedFrame: [plainMessageOf(this.codec, message).frame], answers })
  }
}
