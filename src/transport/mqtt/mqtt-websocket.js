import { CloseCode } from '../engine/frame-reader.js'
import { kListener, kOwner } from '../engine/link.js'
import { queryOf } from '../engine/request.js'
import { WebSocketLink, bytesFrame } from '../engine/websocket-link.js'
import { MqttInput } from './mqtt-input.js'

const BINARY = 0x82

/** An MQTT session in the binary frames of a WebSocket (MQTT 5, 6): packets need not begin where frames do. */
export class MqttWebSocket extends WebSocketLink {
  input = new MqttInput()
  /** @type {number | undefined} */
  silence
  /** @type {import('./mqtt-input.js').Handshake} */
  handshake

  /**
   * @param {string} id
   * @param {import('./mqtt-input.js').MqttServer} server
   * @param {import('../engine/request.js').Upgrade} request checked
   * @param {import('net').Socket} netSocket
   */
  constructor (id, server, request, netSocket) {
    super(id, server, request, netSocket)
    this.dropListeners()
    this.mqttServer = server
    // a page must not log in with the cookie of its user
    this.handshake = { headers: { ...request.headers, cookie: undefined }, query: queryOf(request.url), auth: {} }
  }

  get conn () { return this }
  /** Its client's id is its own: there is one connection with it. */
  get exclusive () { return true }
  get [kListener] () { return this.mqttServer.listener.name }

  /** @override @param {string | Buffer} message */
  onMessage (message) {
    if (this.readyState !== 'open') return
    if (typeof message !== 'string') this.input.receive(this, message)
    else this.closeWith(CloseCode.POLICY, 'MQTT comes in binary frames') // [MQTT-6.0.0-1]
  }

  onPong () {}

  /** @override @param {import('../engine/stream-link.js').Packet} packet */
  creates (packet) { this[kOwner]?.writes(packet) }

  /** @param {undefined} _data not needed: the bytes are made @param {{ wsPreEncodedFrame: Buffer[] }} options */
  write (_data, options) { this.sendPacket('message', undefined, options) }

  /** @override @param {import('../engine/websocket-link.js').Packet} packet */
  frameOf ({ options }) {
    return bytesFrame(BINARY, Buffer.concat(/** @type {Buffer[]} */ (options?.wsPreEncodedFrame)))
  }

  /** @override @param {Buffer} bytes */
  writeFrames (bytes) { return this.writable && super.writeFrames(bytesFrame(BINARY, bytes)) }

  /** @param {Buffer} bytes of the last packet: what is queued is not written any more */
  writeLast (bytes) { this.netSocket.write(bytesFrame(BINARY, bytes)) }

  sendPing () {}

  /** The client has said goodbye. */
  leave () {
    this.endWith(CloseCode.NO_CODE, '')
    this.onClose('transport close')
  }

  /** @override @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    super.onClose(reason, description)
    this.mqttServer.onEnd(this, reason)
  }
}
