import * as ws from 'ws'

const { WebSocket, WebSocketServer } = ws
/** Missing in its types. @type {any} */
const { Receiver } = /** @type {any} */ (ws)

/** Property of ws's receiver: its WebSocket. Of a WebSocket: its session, Engine.IO's socket. */
const kWebSocket = Symbol('websocket')
const kSession = Symbol('session')
/** Property of ws's receiver: the bytes that are counted for it. */
const kHeld = Symbol('held')
/** Property of a WebSocket: the last ping, until the rest of its chunk is read. */
const kPing = Symbol('ping')

const DEFLATE = 'permessage-deflate'
const CLOSE_FRAME = 0x88
/** The first opcode of control frames (RFC 6455, 5.5). */
const CLOSE = 8
/** ws's number for the state in which it expects a frame. */
const GET_INFO = 0
/** Memory of a piece of data besides its bytes. */
const OVERHEAD = 128
/** Fragments of one message; the same limit as in frame-reader.js. */
const MAX_FRAGMENTS = 1024
/** Smallest expected piece of a message, bytes, and a minimum for the number of pieces. */
const PIECE = 256
const MAX_PIECES = 4096

/**
 * @param {any} ws
 * @param {any} session Engine.IO's socket, whose limits (transport/admission/input-limits.js) apply to the WebSocket
 *   from now on
 */
export function belongsTo (ws, session) { ws[kSession] = session }

/** @param {any} receiver @returns {any} Engine.IO's socket; undefined before the session is open */
const sessionOf = (receiver) => receiver[kWebSocket][kSession]

/**
 * ws's receiver with the limits of the session: size of a message, also of an inflated one, memory for unfinished
 * messages, and number of frames. An existing receiver of ws gets this prototype, so it has no private fields.
 */
class BoundedReceiver extends Receiver {
  /** @param {Buffer} chunk @param {BufferEncoding} encoding @param {(error?: Error | null) => void} done */
  _write (chunk, encoding, done) {
    const session = sessionOf(this)
    // Bytes after the end are dropped.
    if (session?.readyState === 'closed' && chunk[0] !== CLOSE_FRAME) return done()
    super._write(chunk, encoding, done)
    tell(this, session)
  }

  /** Called with the header of a frame. @param {(error?: Error | null) => void} done */
  haveLength (done) {
    const own = /** @type {any} */ (this)
    const session = sessionOf(own)
    if (session !== undefined) {
      own._maxPayload = session.maxBytes
      if (own._opcode >= CLOSE || !own._fin) session.server.onFrames(session, 1)
      if (session.readyState === 'closed' && own._opcode !== CLOSE) return forget(own)
    }
    super.haveLength(done)
  }

  /** @param {Buffer} data @param {(error?: Error | null) => void} done */
  decompress (data, done) {
    const session = sessionOf(this)
    if (session !== undefined) /** @type {any} */ (this)._extensions[DEFLATE]._maxPayload = session.maxBytes
    super.decompress(data, done)
  }

  /** Called with a frame of a message. @param {(error?: Error | null) => void} done */
  dataMessage (done) {
    super.dataMessage(done)
    // The message was inflated meanwhile.
    if (/** @type {any} */ (this)._compressed) tell(this, sessionOf(this))
  }
}

/** @param {any} receiver @param {any} session */
function tell (receiver, session) {
  if (session === undefined) return
  if (session.readyState === 'closed') return forget(receiver)
  const { _bufferedBytes, _messageLength, _buffers, _fragments, [kHeld]: known } = receiver
  const held = _bufferedBytes + _messageLength + OVERHEAD * (_buffers.length + _fragments.length)
  if (held === known) return
  receiver[kHeld] = held
  session.server.inputLimits.holds(session, held - known)
}

/** Drops unfinished messages and stops reading. @param {any} receiver */
function forget (receiver) {
  Object.assign(receiver, { _buffers: [], _bufferedBytes: 0, _fragments: [], _loop: false, _state: GET_INFO })
}

/**
 * ws answers each ping at once: the pongs for a client that sends pings and does not read would fill the memory.
 */
class PatientWebSocket extends WebSocket {
  /** @param {any} socket @param {Buffer} head @param {any} options */
  setSocket (socket, head, options) {
    /** @type {any} */ (WebSocket.prototype).setSocket.call(this, socket, head, options)
    const { _receiver } = /** @type {any} */ (this)
    Object.setPrototypeOf(_receiver, BoundedReceiver.prototype)
    Object.assign(_receiver, { [kWebSocket]: this, [kHeld]: 0 })
  }

  /**
   * Answers the last ping of a chunk (RFC 6455, 5.5.3), like engine-socket.js.
   * @override @param {any} data
   */
  pong (data) {
    const own = /** @type {any} */ (this)
    const waits = own[kPing] !== undefined
    own[kPing] = data
    if (waits) return
    process.nextTick(() => {
      const last = own[kPing]
      own[kPing] = undefined
      // Do not answer pings while the client is not reading.
      if (this.readyState === WebSocket.OPEN && this.bufferedAmount === 0) super.pong(last, false)
    })
  }
}

/** Engine.IO's `wsEngine`, for its own sessions. */
export class WebSockets extends WebSocketServer {
  /** @param {any} options */
  constructor (options) {
    super({
      ...options,
      WebSocket: PatientWebSocket,
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: Math.max(MAX_PIECES, Math.ceil(options.maxPayload / PIECE))
    })
  }
}
