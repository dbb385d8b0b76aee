import { kListener, kOwner } from '../engine/link.js'
import { StreamLink } from '../engine/stream-link.js'
import { MqttInput, NOTHING } from './mqtt-input.js'

/** An MQTT session over TCP or TLS. */
export class MqttSocket extends StreamLink {
  input = new MqttInput()
  /** @type {number | undefined} */
  silence
  handshake = NOTHING

  /**
   * @param {string} id
   * @param {import('./mqtt-input.js').MqttServer} server
   * @param {import('net').Socket} netSocket
   */
  constructor (id, server, netSocket) {
    super(id, server, null, netSocket)
    this.dropListeners()
    this.mqttServer = server
  }

  /** The session of the client's connection: itself. */
  get conn () { return this }
  /** Its client's id is its own: there is one connection with it. */
  get exclusive () { return true }
  get name () { return 'tcp' }
  get [kListener] () { return this.mqttServer.listener.name }

  /** @override @param {Buffer} chunk */
  received (chunk) { if (this.readyState === 'open') this.input.receive(this, chunk) }

  /** @override @param {import('../engine/stream-link.js').Packet} packet */
  creates (packet) { this[kOwner]?.writes(packet) }

  /** @param {undefined} _data not needed: the bytes are made @param {{ wsPreEncodedFrame: Buffer[] }} options */
  write (_data, options) { this.sendPacket('message', undefined, options) }

  /** @override @param {import('../engine/stream-link.js').Packet} packet */
  frameOf ({ options }) {
    const bytes = /** @type {Buffer[]} */ (options?.wsPreEncodedFrame)
    return bytes.length === 1 ? bytes[0] : Buffer.concat(bytes)
  }

  /** @param {Buffer} bytes of the last packet: what is queued is not written any more */
  writeLast (bytes) { this.netSocket.write(bytes) }

  /** @override */
  closeWith () { this.#end('forced close') }

  /** The client has said goodbye. */
  leave () { this.#end('transport close') }

  /** @param {string} reason */
  #end (reason) {
    const { netSocket } = this
    if (!netSocket.destroyed && !netSocket.writableEnded) {
      netSocket.end()
      this.closing.add(netSocket)
    }
    this.onClose(reason)
  }

  /** MQTT has no ping of the server. */
  sendPing () {}

  /** @override @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    super.onClose(reason, description)
    this.mqttServer.onEnd(this, reason)
  }
}
