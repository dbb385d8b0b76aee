import { hash } from 'node:crypto'
import { frameFor } from '../../wire/packet.js'
import { CloseCode, FrameError, FrameReader } from './frame-reader.js'
import { ignoreRest, setReader } from './socket-reader.js'
import { StreamLink } from './stream-link.js'

/**
 * One WebSocket of a client, from the answer to its handshake to its end, without a protocol on top of it: a session of
 * Engine.IO (engine-socket.js) and a plain WebSocket (transport/plain) extend it by what a message and a packet are.
 *
 * Events: `packetCreate`, `drain`, `ready`, `close`, as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 *
 * @typedef {import('./stream-link.js').SessionServer} SessionServer
 * @typedef {import('./stream-link.js').Packet} Packet
 */

const TEXT = 0x81
const [CLOSE, PONG] = [0x88, 0x8a]
/** RFC 6455, 1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** Answered pings of one chunk. */
const MAX_PONGS = 10
/** @type {Buffer[]} */
const NO_PINGS = []

/** @abstract */
export class WebSocketLink extends StreamLink {
  #frames = new FrameReader()
  /** The part of `#frames.held` that is counted. */
  #held = 0
  /** Unanswered pings of the current chunk. */
  #pings = NO_PINGS

  /** Opens the WebSocket of a session that began without one. @param {import('net').Socket} netSocket */
  openSocket (netSocket) {
    this.netSocket = netSocket
    setReader(netSocket, this)
  }

  /** Forgets a WebSocket that is closed; the session continues without it. */
  closeSocket () {
    ignoreRest(this.netSocket, this.closing)
    this.netSocket = /** @type {any} */ (null)
    this.#tell()
  }

  /** A whole message. @abstract @param {string | Buffer} _message a view of the received bytes */
  onMessage (_message) { throw new Error('not implemented') }

  get name () { return 'websocket' }

  /**
   * The answer to the handshake.
   * @param {string} [protocol] the subprotocol that is spoken
   * @param {import('./request.js').Upgrade} [request] default: the one that began the session
   * @param {string} [lines] more headers
   * @returns {Buffer}
   */
  answer (protocol, { headers } = /** @type {import('./request.js').Upgrade} */ (this.request), lines = '') {
    const accept = hash('sha1', headers['sec-websocket-key'] + GUID, 'base64')
    return Buffer.from(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ` +
      `${accept}\r\n${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}${lines}\r\n`, 'latin1')
  }

  /** @override @param {Buffer} chunk received; overwritten */
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
    if (this.netSocket === null) this.#frames.clear()
    const { held } = this.#frames
    if (held === this.#held) return
    const more = held - this.#held
    this.#held = held
    this.server.inputLimits.holds(this, more)
  }

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
    if (this.readyState !== 'open' || this.netSocket === null || this.netSocket.writableLength > 0) return
    this.writeNow(
      pings.length === 1 ? bytesFrame(PONG, pings[0]) : Buffer.concat(pings.map((payload) => bytesFrame(PONG, payload)))
    )
  }

  /** @param {Buffer} payload */
  onCloseFrame (payload) {
    if (this.readyState === 'closed') return
    this.#pong()
    this.endWith(payload.length === 0 ? CloseCode.NO_CODE : payload.readUInt16BE(0), '')
    this.closes()
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

  /** Closes with a close frame. @override @param {number} code @param {string} reason less than 124 bytes */
  closeWith (code, reason) {
    this.endWith(code, reason)
    this.onClose('forced close')
  }

  /**
   * Ends this side of the stream with a close frame.
   * @param {number} code
   * @param {string} reason
   * @param {Buffer | null} [before] bytes that are written with it
   */
  endWith (code, reason, before = null) {
    const { netSocket } = this
    if (netSocket.destroyed || netSocket.writableEnded) return
    const payload = Buffer.allocUnsafe(code === CloseCode.NO_CODE ? 0 : 2 + Buffer.byteLength(reason))
    if (payload.length > 0) payload.write(reason, payload.writeUInt16BE(code, 0))
    const frame = bytesFrame(CLOSE, payload)
    netSocket.end(before === null ? frame : Buffer.concat([before, frame]))
    this.closing.add(netSocket)
  }

  /** @override @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    this.#frames.clear()
    super.onClose(reason, description)
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
