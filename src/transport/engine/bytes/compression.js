import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { WebSocketServer } from 'ws'
import { frameFor } from '../../../wire/packet.js'
import { WebSockets } from '../websockets.js'

/**
 * Compression once per record and codec: permessage-deflate (RFC 7692) without context takeover, so that one deflated
 * frame serves every client that negotiated it. ws itself compresses nothing: it would compress once per client, and
 * asynchronously, so that frames written past it would overtake.
 */

const EXTENSION = 'permessage-deflate'
const WINDOW_BITS = 15
const RSV1 = 0x40
/**
 * Records are compressed synchronously, so that the next one cannot overtake: the fastest level (2 KB: 0.04 ms).
 */
const LEVEL = 1
/** Bytes that end every deflated message and are not sent (RFC 7692, 7.2.1). */
const TAIL_LENGTH = 4
const SETTINGS = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  threshold: Infinity,
  zlibInflateOptions: { chunkSize: 4096 }
}

/**
 * Bytes. Clients that are not admitted have lower limits than this one (src/transport/admission/input-limits.js): their
 * messages
 * are inflated at once. A stream of zlib costs more CPU than the rest of their handshake, and strangers may reconnect.
 */
const AT_ONCE = 2 ** 16
const INFLATED_AT_ONCE = { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: 4096 }
/** Ends each deflated message; the sender leaves it out (RFC 7692, 7.2.2). */
const TAIL = Buffer.from([0, 0, 0xff, 0xff])
/** In place of a message that inflates to more than its limit: ws refuses it by its length. */
const TOO_LARGE = Buffer.alloc(AT_ONCE + 1)

/** Negotiated parameters, shared by all connections instead of a copy for each. */
const AGREED = { server_no_context_takeover: true, client_no_context_takeover: true }

/** Property of a WebSocket that accepts the shared compressed frames. */
const kTakesCompressed = Symbol('takes compressed')

/** @param {any} conn Engine.IO's socket @returns {boolean} */
export const takesCompressed = (conn) =>
  conn.transport.name === 'websocket' && conn.transport.socket[kTakesCompressed] === true

/**
 * @param {Buffer} frame whole, unmasked
 * @param {number} from smallest frame to compress, bytes
 * @returns {Buffer} the same frame if it is smaller, or if compression does not shorten it
 */
export function compressedFrame (frame, from) {
  if (frame.length < from) return frame
  const payload = frame.subarray(frame[1] < 126 ? 2 : frame[1] === 126 ? 4 : 10)
  const deflated = deflateRawSync(payload, {
    level: LEVEL,
    windowBits: WINDOW_BITS,
    finishFlush: constants.Z_SYNC_FLUSH
  })
  const length = deflated.length - TAIL_LENGTH
  if (length >= payload.length) return frame
  const { frame: compressed, at } = frameFor(frame[0] | RSV1, length)
  deflated.copy(compressed, at, 0, length)
  return compressed
}

/**
 * Replaces ws's own, which would keep the zlib state with the connection. ws's limits hold: `maxPayload` for the
 * inflated message, and the number of messages inflated at a time.
 * @this {any} ws's PerMessageDeflate
 * @param {Buffer} data @param {boolean} fin @param {(error: Error | null, message?: Buffer) => void} done
 */
function decompress (data, fin, done) {
  if (fin && !this._inflate && this._maxPayload <= AT_ONCE) {
    const inflated = inflatedAtOnce(data, this._maxPayload)
    // ws continues with the next frame when it gets this one, so it has to return from here before
    if (inflated !== null) return process.nextTick(done, null, inflated)
  }
  Object.getPrototypeOf(this).decompress.call(
    this,
    data,
    fin,
    (/** @type {Error | null} */ error, /** @type {Buffer} */ message) => {
      if (fin && this._inflate !== null) {
        this._inflate.close()
        this._inflate = null
      }
      done(error, message)
    }
  )
}

/** @param {Buffer} data @param {number} max @returns {Buffer | null} null: it is damaged, ws says how */
function inflatedAtOnce (data, max) {
  try {
    return inflateRawSync(Buffer.concat([data, TAIL]), { ...INFLATED_AT_ONCE, maxOutputLength: max })
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ERR_BUFFER_TOO_LARGE' ? TOO_LARGE : null
  }
}

/**
 * Engine.IO's `wsEngine` where frames are compressed. Engine.IO is not aware of it and keeps accepting pre-encoded
 * frames.
 */
export class CompressingServer extends WebSockets {
  /** @param {any} options */
  constructor (options) { super({ ...options, perMessageDeflate: SETTINGS }) }

  /** @param {Record<string, any>} extensions @param {any[]} args the last one is called with the WebSocket */
  completeUpgrade (extensions, ...args) {
    const extension = extensions[EXTENSION]
    const done = args.pop()
    if (extension !== undefined) extension.decompress = decompress
    const completeUpgrade = /** @type {any} */ (WebSocketServer.prototype).completeUpgrade
    completeUpgrade.call(this, extensions, ...args, (/** @type {any} */ ws, /** @type {unknown} */ req) => {
      // A client may ask for a smaller window than the shared frames use: it gets the plain ones.
      if (extension !== undefined && (extension.params.server_max_window_bits ?? WINDOW_BITS) === WINDOW_BITS) {
        ws[kTakesCompressed] = true
        extension.params = AGREED
        extension._options = SETTINGS
      }
      done(ws, req)
    })
  }
}
