import { ERRORS } from '../../base/common/errors.js'
import { CloseCode } from '../../transport/engine/frame-reader.js'
import { plainMessageOf } from '../../wire/plain-message.js'
import { Connection } from '../connection.js'

/** @param {{ retryable: boolean }} error that the client gets as well @returns {number} code of the close frame */
export const closeCodeOf = ({ retryable }) => retryable ? CloseCode.TRY_AGAIN_LATER : CloseCode.POLICY

/** The connection of a client of the plain WebSocket protocol (docs/websocket.md). It is in no room of extensions. */
export class PlainConnection extends Connection {
  /** As of takeovers.js. */
  claimedAt = 0

  /** @override */
  get exclusive () { return true }

  /** @override */
  get open () { return this.conn.readyState === 'open' }

  /** @override @param {string} event @param {object} payload */
  send (event, payload) {
    if (event === 'gateway:disconnect') this.#lastWords({ event, payload })
    else this.#write({ event, payload })
  }

  /** The close frame follows, in the same write. @param {object} message */
  #lastWords (message) {
    this.flush()
    const { conn } = this
    if (conn.readyState !== 'open') return
    if (conn.writable) conn.writesLater(plainMessageOf(this.codec, message).frame)
    else this.#write(message)
  }

  /** @override */
  endSession () {
    const { endCode } = this
    this.conn.close(false, endCode === null ? undefined : closeCodeOf(ERRORS[endCode]), endCode ?? undefined)
  }

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
