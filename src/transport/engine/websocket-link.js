import { EventEmitter } from 'node:events'
import { hash } from 'node:crypto'
import { frameFor } from '../../wire/packet.js'
import { setReader } from './socket-reader.js'
import { CloseCode, FrameError, FrameReader } from './frame-reader.js'
import { unsentOf } from './link.js'

/**
 * One WebSocket of a client, from the answer to its handshake to its end, without a protocol on top of it: a session of
 * Engine.IO (engine-socket.js) and a plain WebSocket (transport/plain) extend it by what a message and a packet are.
 *
 * Events: `packetCreate`, `drain`, `ready`, `close`, as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 *
 * @typedef {object} SessionServer where the session belongs
 * @property {number} maxBytes largest message of a client
 * @property {{ holds: (session: any, more: number) => void }} inputLimits
 * @property {(session: any, frames: number) => void} onFrames
 * @property {(session: any) => void} ended called when the session has ended
 * @property {import('./deadlines.js').Deadlines} closing connections that were closed here
 * @property {Pick<import('../../base/common/clock.js').Clock, 'soon'>} clock
 *
 * @typedef {object} Packet
 * @property {string} type Engine.IO's
 * @property {any} [data]
 * @property {{ wsPreEncodedFrame?: Buffer[] }} [options] the encoded frames of this packet
 * @property {() => void} [callback] called when the packet is written
 */

const TEXT = 0x81
const [CLOSE, PONG] = [0x88, 0x8a]
const EMPTY = Buffer.alloc(0)
/** RFC 6455, 1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** The empty write buffer. @type {Packet[]} */
const NOTHING = []
/** Answered pings of one chunk. */
const MAX_PONGS = 10
/** @type {Buffer[]} */
const NO_PINGS = []

/** @abstract */
export class WebSocketLink extends EventEmitter {
  /** @type {'open' | 'closing' | 'closed'} */
  readyState = 'open'
  /** Packets queued until the kernel takes more. @type {Packet[]} */
  writeBuffer = NOTHING
  /** The kernel has not taken everything that was written. */
  #blocked = false
  #frames = new FrameReader()
  /** The part of `#frames.held` that is counted. */
  #held = 0
  /** Unanswered pings of the current chunk. */
  #pings = NO_PINGS

  /**
   * @param {string} id
   * @param {SessionServer} server
   * @param {import('./request.js').Upgrade} request checked; null once the client is admitted
   * @param {import('net').Socket} netSocket
   */
  constructor (id, server, request, netSocket) {
    super()
    this.id = id
    this.server = server
    /** @type {import('./request.js').Upgrade | null} */
    this.request = request
    /** Largest message; smaller until the client is admitted (transport/admission/input-limits.js). */
    this.maxBytes = server.maxBytes
    this.netSocket = netSocket
    setReader(netSocket, this)
  }

  /** A whole message. @abstract @param {string | Buffer} _message a view of the received bytes */
  onMessage (_message) { throw new Error('not implemented') }

  /** @abstract @param {Packet} _packet @returns {Buffer} its frames */
  frameOf (_packet) { throw new Error('not implemented') }

  get closing () { return this.server.closing }
  /** Engine.IO's transport. */
  get transport () { return this }
  get name () { return 'websocket' }
  /** Its WebSocket. */
  get socket () { return this }
  get remoteAddress () { return this.netSocket.remoteAddress }
  get writable () { return !this.#blocked }
  /** Bytes that the kernel has not taken yet. */
  get bufferedAmount () { return this.netSocket.writableLength }

  /**
   * The answer to the handshake.
   * @param {string} [protocol] the subprotocol that is spoken
   * @returns {Buffer}
   */
  answer (protocol) {
    const { headers } = /** @type {import('./request.js').Upgrade} */ (this.request)
    const accept = hash('sha1', headers['sec-websocket-key'] + GUID, 'base64')
    return Buffer.from(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ` +
      `${accept}\r\n${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`, 'latin1')
  }

  /** @param {Buffer} chunk received; overwritten */
  received (chunk) {
    if (this.readyState === 'closed') return
    let others = 0
    try {
      others = this.#frames.read(chunk, this.maxBytes, this)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.onError(error)
    }
    this.#pong()
    if (others > 0) this.server.onFrames(this, others)
    this.#tell()
  }

  /** Counts the memory of an unfinished message. */
  #tell () {
    // The rest of the chunk may have been read after the end.
    if (this.readyState === 'closed') return this.#frames.clear()
    const { held } = this.#frames
    if (held === this.#held) return
    const more = held - this.#held
    this.#held = held
    this.server.inputLimits.holds(this, more)
  }

  /** The connection, or the client's side of it, has ended. */
  ended () { this.onClose('transport close') }

  /** @param {Buffer} payload */
  onPing (payload) {
    if (this.#pings === NO_PINGS) this.#pings = [payload]
    else if (this.#pings.length < MAX_PONGS) this.#pings.push(payload)
    else this.#pings[MAX_PONGS - 1] = payload
  }

  /**
   * Answers the pings of a chunk in one write: up to MAX_PONGS of them, the last one included (RFC 6455, 5.5.3).
   */
  #pong () {
    const pings = this.#pings
    if (pings === NO_PINGS) return
    this.#pings = NO_PINGS
    // Do not answer pings while the client is not reading.
    if (this.readyState !== 'open' || this.#blocked) return
    this.writeNow(
      pings.length === 1 ? bytesFrame(PONG, pings[0]) : Buffer.concat(pings.map((payload) => bytesFrame(PONG, payload)))
    )
  }

  /** @param {Buffer} payload */
  onCloseFrame (payload) {
    if (this.readyState === 'closed') return
    this.#pong()
    this.endWith(payload.length === 0 ? CloseCode.NO_CODE : payload.readUInt16BE(0), '')
    this.readyState = 'closing'
    // Socket.IO handles packets in a later tick: a disconnect packet sent just before has to be handled first.
    this.server.clock.soon(() => this.onClose('transport close'))
  }

  /** @param {unknown} error of the client or the connection */
  onError (error) {
    this.#pong()
    if (error instanceof FrameError) this.endWith(error.closeCode, error.message)
    else this.endWith(CloseCode.NO_CODE, '')
    this.onClose('transport error', error)
  }

  /**
   * @param {string} type
   * @param {any} [data]
   * @param {any} [options] `wsPreEncodedFrame`: the encoded frames of this packet
   * @param {() => void} [callback] called when the packet is written
   */
  sendPacket (type, data, options, callback) {
    if (this.readyState !== 'open') return
    const packet = { type, data, options, callback }
    this.emit('packetCreate', packet)
    if (!this.#blocked) return this.#put([packet])
    // A listener may have closed it.
    if (this.readyState === 'open') this.writeBuffer.push(packet)
  }

  /** @param {Packet[]} packets written together */
  #put (packets) {
    this.writeNow(
      packets.length === 1 ? this.frameOf(packets[0]) : Buffer.concat(packets.map((packet) => this.frameOf(packet)))
    )
    for (const { callback } of packets) callback?.()
    this.emit('drain')
  }

  /**
   * Writes frames as they are, after everything that was written before. The write buffer must be empty.
   * @param {Buffer} frames
   */
  writeNow (frames) {
    this.netSocket.write(frames)
    if (this.netSocket.writableLength === 0 || this.#blocked) return
    this.#blocked = true
    this.writeBuffer = []
    // Called when the kernel has taken everything before it. Only slow connections need this closure.
    this.netSocket.write(EMPTY, () => this.#taken())
  }

  #taken () {
    this.#blocked = false
    const waiting = this.writeBuffer
    this.writeBuffer = NOTHING
    if (waiting.length > 0 && this.readyState !== 'closed') this.#put(waiting)
    if (!this.#blocked) this.emit('ready')
  }

  /**
   * @param {boolean} [discard] closes at once; default: after the queued packets are written
   * @param {number} [code] of the close frame; default: none
   * @param {string} [reason] less than 124 bytes
   * @returns {void}
   */
  close (discard, code = CloseCode.NO_CODE, reason = '') {
    if (this.readyState === 'closed') return
    if (discard !== true && this.writeBuffer.length > 0) {
      if (this.readyState === 'open') this.once('drain', () => this.close(true, code, reason))
      this.readyState = 'closing'
      return
    }
    this.closeWith(code, reason)
  }

  /** Closes with a close frame. @param {number} code @param {string} reason less than 124 bytes */
  closeWith (code, reason) {
    this.endWith(code, reason)
    this.onClose('forced close')
  }

  // Link (link.js)

  begin () {}
  admit () {}

  /** @param {Buffer} frames @returns {boolean} */
  writeFrames (frames) {
    if (this.readyState !== 'open' || this.#blocked) return false
    this.writeNow(frames)
    return true
  }

  unsentBytes () { return unsentOf(this.netSocket) }

  stopTimers () {}

  /** @param {string} [reason] */
  terminate (reason = 'transport close') {
    this.onClose(reason)
    this.netSocket.destroy()
  }

  /**
   * Ends this side of the stream with a close frame.
   * @param {number} code
   * @param {string} reason
   */
  endWith (code, reason) {
    const { netSocket } = this
    if (netSocket.destroyed || netSocket.writableEnded) return
    const payload = Buffer.allocUnsafe(code === CloseCode.NO_CODE ? 0 : 2 + Buffer.byteLength(reason))
    if (payload.length > 0) payload.write(reason, payload.writeUInt16BE(code, 0))
    netSocket.end(bytesFrame(CLOSE, payload))
    this.closing.add(netSocket)
  }

  /** @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    this.readyState = 'closed'
    this.writeBuffer = NOTHING
    this.#frames.clear()
    this.server.ended(this)
    this.emit('close', reason, description)
    this.request = null
  }
}

/** @param {string} text */
export function textFrame (text) {
  const { frame, at } = frameFor(TEXT, Buffer.byteLength(text))
  frame.write(text, at)
  return frame
}

/** @param {number} opcode first byte of the frame @param {Buffer} payload */
export function bytesFrame (opcode, payload) {
  const { frame, at } = frameFor(opcode, payload.length)
  payload.copy(frame, at)
  return frame
}
