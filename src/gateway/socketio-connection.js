import { encodePacket } from '../transport/socketio/codec.js'
import { Connection } from './connection.js'
import { ACK, answeredBy } from './queued-packets.js'
import { describeSocket } from './socket-data.js'

/**
 * Property of a Socket.IO socket that holds its connection (on its Engine.IO socket: `kOwner`). Not in `socket.data`,
 * which is for extensions, and which `fetchSockets` sends to other processes.
 */
export const kConnection = Symbol('connection')

/** The connection of a Socket.IO client: of its main namespace, or of another one (namespace-connection.js). */
export class SocketIoConnection extends Connection {
  /**
   * @param {import('socket.io').Socket} socket
   * @param {import('./connection.js').Identity} identity
   * @param {import('./connection.js').Codec} codec
   * @param {string | undefined} client stable id across reconnects
   * @param {import('./connection.js').ConnectionContext} context
   */
  constructor (socket, identity, codec, client, context) {
    super(socket, identity, codec, client, context)
    this.socket = socket
  }

  /** @override */
  get open () { return this.socket.connected }

  /** @override @param {string} event @param {object} payload */
  send (event, payload) { this.socket.emit(event, payload) }

  /** @override */
  endSession () { this.socket.disconnect(true) }

  /** @override @param {string} room @returns {Promise<void> | void} */
  enterRoom (room) { return this.socket.join(room) }

  /** @override @param {string} room @returns {Promise<void> | void} */
  leaveRoom (room) { return this.socket.leave(room) }

  /** @override */
  describe () {
    const { sockets } = /** @type {any} */ (this.socket).client
    for (const socket of sockets.values()) describeSocket(socket, this)
  }

  /** @override @param {import('./connection.js').Delivered} delivery */
  messagesOf (delivery) { return delivery.messages(this.codec) }

  /** @override @param {import('./queued-packets.js').Packet} queued */
  requestOf ({ data }) { return answeredBy(data, this.codec) }

  /** @override @param {number} id @param {object} answer */
  answer (id, answer) {
    for (const data of encodePacket(this.codec, { type: ACK, nsp: '/', id, data: [answer] })) this.conn.write(data)
  }
}
