import { parser } from 'engine.io'
import { CloseCode } from './frame-reader.js'
import { PING, PING_OPTIONS } from './link.js'
import { WebSocketLink, bytesFrame, textFrame } from './websocket-link.js'

/**
 * An Engine.IO v4 session that begins with a WebSocket and ends with it: Engine.IO's Socket, its transport and the
 * WebSocket in one object, with the parts of them that Socket.IO and extensions use. Clients that begin with long
 * polling get Engine.IO's own session; so does every client where compression is offered.
 * Why: docs/internals/decisions/0005-handshake.md
 *
 * Events: `packet`, `packetCreate`, `data`, `message`, `heartbeat`, `drain`, `ready`, `close`, as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 * @typedef {import('./websocket-link.js').Packet} Packet
 */

const BINARY = 0x82
/** Engine.IO's packet types, and the characters that encode them. @type {Record<string, string>} */
const TYPES = { open: '0', close: '1', ping: '2', pong: '3', message: '4', upgrade: '5', noop: '6' }

/** @implements {Link} */
export class EngineSocket extends WebSocketLink {
  get protocol () { return 4 }
  get upgrading () { return false }
  get upgraded () { return false }
  get sid () { return this.id }

  /**
   * Responds to the request and opens the session, in one write.
   * @param {string} opening Engine.IO's first packet
   */
  open (opening) {
    const { headers } = /** @type {import('./request.js').Upgrade} */ (this.request)
    // The first one offered, as in ws.
    const protocol = headers['sec-websocket-protocol']?.split(',')[0].trim()
    this.writeNow(Buffer.concat([this.answer(protocol), textFrame(`0${opening}`)]))
  }

  /** @override @param {string | Buffer} message */
  onMessage (message) { this.onPacket(/** @type {any} */ (parser.decodePacket(message, 'nodebuffer'))) }

  /** Handles a packet as the protocol of Engine.IO, version 4, says. @param {Packet} packet received */
  onPacket (packet) {
    if (this.readyState !== 'open') return
    this.emit('packet', packet)
    switch (packet.type) {
      case 'message':
        this.emit('data', packet.data)
        this.emit('message', packet.data)
        break
      case 'pong':
        this.emit('heartbeat')
        break
      case 'ping':
        this.onError(new Error('invalid heartbeat direction'))
        break
      case 'close':
        this.endWith(CloseCode.NO_CODE, '')
        this.onClose('transport close')
        break
      case 'error':
        this.endWith(CloseCode.NO_CODE, '')
        this.onClose('parse error')
    }
  }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] */
  send (data, options, callback) { return this.write(data, options, callback) }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] @returns {this} */
  write (data, options, callback) {
    this.sendPacket('message', data, options, callback)
    return this
  }

  sendPing () { if (!this.writeFrames(PING)) this.sendPacket('ping', undefined, PING_OPTIONS) }

  /** Part of Engine.IO's transport; nothing to do. */
  discard () {}

  /** @override @param {Packet} packet @returns {Buffer} */
  frameOf ({ type, data, options }) {
    const made = options?.wsPreEncodedFrame
    if (made !== undefined) return made.length === 1 ? made[0] : Buffer.concat(made)
    if (ArrayBuffer.isView(data)) return bytesFrame(BINARY, Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    if (data instanceof ArrayBuffer) return bytesFrame(BINARY, Buffer.from(data))
    return textFrame(`${TYPES[type]}${data ?? ''}`)
  }
}
