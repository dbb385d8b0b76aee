import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { parser } from 'engine.io'
import { frameFor } from '../../wire/packet.js'
import { setReader } from './socket-reader.js'
import { CloseCode, FrameError, FrameReader } from './frame-reader.js'
import { PING, PING_OPTIONS, unsentOf } from './link.js'

/**
 * An Engine.IO v4 session that begins with a WebSocket and ends with it: Engine.IO's Socket, its transport and the
 * WebSocket in one object, with the parts of them that Socket.IO and extensions use. Clients that begin with long
 * polling get Engine.IO's own session; so does every client where compression is offered.
 * Why: docs/internals/decisions/0005-handshake.md
 *
 * Events: `packet`, `packetCreate`, `data`, `message`, `heartbeat`, `drain`, `ready`, `close`, as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 *
 * @typedef {object} SessionServer the Engine
 * @property {number} maxBytes largest message of a client
 * @property {{ holds: (session: any, more: number) => void }} inputLimits
 * @property {(session: EngineSocket, frames: number) => void} onFrames
 * @property {(session: EngineSocket) => void} ended called when the session has ended
 * @property {import('./deadlines.js').Deadlines} closing connections that were closed here
 * @property {Pick<import('../../base/common/clock.js').Clock, 'soon'>} clock
 *
 * @typedef {object} Packet
 * @property {string} type Engine.IO's
 * @property {any} [data]
 * @property {{ wsPreEncodedFrame?: Buffer[] }} [options]
 * @property {() => void} [callback] called when the packet is written
 */

const [TEXT, BINARY] = [0x81, 0x82]
const [CLOSE, PONG] = [0x88, 0x8a]
const EMPTY = Buffer.alloc(0)
/** Engine.IO's packet types, and the characters that encode them. @type {Record<string, string>} */
const TYPES = { open: '0', close: '1', ping: '2', pong: '3', message: '4', upgrade: '5', noop: '6' }
/** RFC 6455, 1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** The empty write buffer. @type {Packet[]} */
const NOTHING = []
/** Answered pings of one chunk. */
const MAX_PONGS = 10
/** @type {Buffer[]} */
const NO_PINGS = []

/** @implements {Link} */
export class EngineSocket extends EventEmitter {
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

  get closing () { return this.server.closing }
  get protocol () { return 4 }
  get upgrading () { return false }
  get upgraded () { return false }
  /** Engine.IO's transport. */
  get transport () { return this }
  get name () { return 'websocket' }
  /** Its WebSocket. */
  get socket () { return this }
  get sid () { return this.id }
  get remoteAddress () { return this.netSocket.remoteAddress }
  get writable () { return !this.#blocked }
  /** Bytes that the kernel has not taken yet. */
  get bufferedAmount () { return this.netSocket.writableLength }

  /**
   * Responds to the request and opens the session, in one write.
   * @param {string} opening Engine.IO's first packet
   */
  open (opening) {
    const { headers } = /** @type {import('./request.js').Upgrade} */ (this.request)
    const accept = hash('sha1', headers['sec-websocket-key'] + GUID, 'base64')
    // The first one offered, as in ws.
    const protocol = headers['sec-websocket-protocol']?.split(',')[0].trim()
    const answer = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ` +
      `${accept}\r\n${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`
    this.writeNow(Buffer.concat([Buffer.from(answer, 'latin1'), textFrame(`0${opening}`)]))
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

  /** @param {string | Buffer} message */
  onMessage (message) { this.onPacket(/** @type {any} */ (parser.decodePacket(message, 'nodebuffer'))) }

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
    this.#end(payload.length === 0 ? CloseCode.NO_CODE : payload.readUInt16BE(0), '')
    this.readyState = 'closing'
    // Socket.IO handles packets in a later tick: a disconnect packet sent just before has to be handled first.
    this.server.clock.soon(() => this.onClose('transport close'))
  }

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
        this.#end(CloseCode.NO_CODE, '')
        this.onClose('transport close')
        break
      case 'error':
        this.#end(CloseCode.NO_CODE, '')
        this.onClose('parse error')
    }
  }

  /** @param {unknown} error of the client or the connection */
  onError (error) {
    this.#pong()
    if (error instanceof FrameError) this.#end(error.closeCode, error.message)
    else this.#end(CloseCode.NO_CODE, '')
    this.onClose('transport error', error)
  }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] */
  send (data, options, callback) { return this.write(data, options, callback) }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] @returns {this} */
  write (data, options, callback) {
    this.sendPacket('message', data, options, callback)
    return this
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
    this.writeNow(packets.length === 1 ? frameOf(packets[0]) : Buffer.concat(packets.map(frameOf)))
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
   * @returns {void}
   */
  close (discard) {
    if (this.readyState === 'closed') return
    if (discard !== true && this.writeBuffer.length > 0) {
      if (this.readyState === 'open') this.once('drain', () => this.close(true))
      this.readyState = 'closing'
      return
    }
    this.closeWith(CloseCode.NO_CODE, '')
  }

  /** Closes with a close frame. @param {number} code @param {string} reason less than 124 bytes */
  closeWith (code, reason) {
    this.#end(code, reason)
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

  sendPing () { if (!this.writeFrames(PING)) this.sendPacket('ping', undefined, PING_OPTIONS) }

  stopTimers () {}

  /** @param {string} [reason] */
  terminate (reason = 'transport close') {
    this.onClose(reason)
    this.netSocket.destroy()
  }

  /** Part of Engine.IO's transport; nothing to do. */
  discard () {}

  /** @param {number} code @param {string} reason */
  #end (code, reason) {
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

/** @param {Packet} packet @returns {Buffer} its frames */
function frameOf ({ type, data, options }) {
  const made = options?.wsPreEncodedFrame
  if (made !== undefined) return made.length === 1 ? made[0] : Buffer.concat(made)
  if (ArrayBuffer.isView(data)) return bytesFrame(BINARY, Buffer.from(data.buffer, data.byteOffset, data.byteLength))
  if (data instanceof ArrayBuffer) return bytesFrame(BINARY, Buffer.from(data))
  return textFrame(`${TYPES[type]}${data ?? ''}`)
}

/** @param {string} text */
function textFrame (text) {
  const { frame, at } = frameFor(TEXT, Buffer.byteLength(text))
  frame.write(text, at)
  return frame
}

/** @param {number} opcode @param {Buffer} payload of a control frame up to 125 bytes */
function bytesFrame (opcode, payload) {
  const { frame, at } = frameFor(opcode, payload.length)
  payload.copy(frame, at)
  return frame
}
