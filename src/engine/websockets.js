import * as ws from 'ws'

const { WebSocket, WebSocketServer } = ws
/** Its types don't have it. @type {any} */
const { Receiver } = /** @type {any} */ (ws)

/** Of ws's receiver: its WebSocket. Of a WebSocket: Engine.IO's socket, the session that it belongs to. */
const kWebSocket = Symbol('websocket')
const kSession = Symbol('session')
/** Of ws's receiver: what of the bytes it keeps the worker knows. */
const kHeld = Symbol('held')
/** Of a WebSocket: the last ping, until everything that came with it is read. */
const kPing = Symbol('ping')

const DEFLATE = 'permessage-deflate'
const CLOSE_FRAME = 0x88
/** From this opcode on frames are control frames (RFC 6455, 5.5). */
const CLOSE = 8
/** ws's number of the state in which it expects a frame. */
const GET_INFO = 0
/** What a piece of data takes besides its bytes. */
const OVERHEAD = 128
/** As many as our own take (frame-reader.js). */
const MAX_FRAGMENTS = 1024
/** Pieces in which a message may come: as small as networks make them, bytes, but so many in any case. */
const PIECE = 256
const MAX_PIECES = 4096

/**
 * @param {any} ws
 * @param {any} session Engine.IO's socket, whose bounds (admission/input-limits.js) are those of the WebSocket from now on
 */
export function belongsTo (ws, session) { ws[kSession] = session }

/** @param {any} receiver @returns {any} Engine.IO's socket; undefined: there is none yet */
const sessionOf = (receiver) => receiver[kWebSocket][kSession]

/**
 * ws's, whose bounds are those of the session: how large a message may be, also one that was inflated, what is kept of
 * messages that are not whole, and how many frames may come. An object of ws's becomes one of these when it is there,
 * so there is nothing private in it.
 */
class BoundedReceiver extends Receiver {
  /** @param {Buffer} chunk @param {BufferEncoding} encoding @param {(error?: Error | null) => void} done */
  _write (chunk, encoding, done) {
    const session = sessionOf(this)
    // what comes after the end is nobody's
    if (session?.readyState === 'closed' && chunk[0] !== CLOSE_FRAME) return done()
    super._write(chunk, encoding, done)
    tell(this, session)
  }

  /** The header of a frame has come. @param {(error?: Error | null) => void} done */
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

  /** A frame of a message has come. @param {(error?: Error | null) => void} done */
  dataMessage (done) {
    super.dataMessage(done)
    // it was inflated meanwhile
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

/** What is kept of messages goes, and nothing more is read. @param {any} receiver */
function forget (receiver) {
  Object.assign(receiver, { _buffers: [], _bufferedBytes: 0, _fragments: [], _loop: false, _state: GET_INFO })
}

/**
 * ws answers each ping of a client at once, and what a client does not read that asks again and again would fill the
 * memory.
 */
class PatientWebSocket extends WebSocket {
  /** @param {any} socket @param {Buffer} head @param {any} options */
  setSocket (socket, head, options) {
    /** @type {any} */ (WebSocket.prototype).setSocket.call(this, socket, head, options)
    const { _receiver } = /** @type {any} */ (this)
    // another version's may be something else, and has ws's own bounds
    if (!(_receiver instanceof Receiver)) return
    Object.setPrototypeOf(_receiver, BoundedReceiver.prototype)
    Object.assign(_receiver, { [kWebSocket]: this, [kHeld]: 0 })
  }

  /**
   * Answers the last of the pings that have come together (RFC 6455, 5.5.3), as our own do (engine-socket.js).
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
      // who takes nothing is not told that we are there
      if (this.readyState === WebSocket.OPEN && this.bufferedAmount === 0) super.pong(last, false)
    })
  }
}

/** Engine.IO's `wsEngine`, for sessions that are not ours. */
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
