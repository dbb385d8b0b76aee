import { constants, deflateRawSync } from 'node:zlib'
import { WebSocketServer } from 'ws'
import { frameFor } from '../wire/packet.js'
import { WebSockets } from './websockets.js'

/**
 * Compression once per record and codec: permessage-deflate (RFC 7692) without context takeover, so that one deflated
 * frame serves every client that has agreed to it. ws itself compresses nothing, which would be once per client, and
 * asynchronous: what is written past it would overtake.
 */

const EXTENSION = 'permessage-deflate'
const WINDOW_BITS = 15
const RSV1 = 0x40
/**
 * A record is compressed while the event loop waits, so that the next one cannot overtake it: quickly rather than well
 * (2 KB: 0.04 ms).
 */
const LEVEL = 1
/** What every message ends with, and is left out (RFC 7692, 7.2.1). */
const TAIL_LENGTH = 4
const SETTINGS = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  threshold: Infinity,
  zlibInflateOptions: { chunkSize: 4096 }
}

/** Shared by all connections that have agreed to it, in the place of a copy for each. */
const AGREED = { server_no_context_takeover: true, client_no_context_takeover: true }

/** Where a WebSocket has whether it takes the frames that all share. */
const kTakesCompressed = Symbol('takes compressed')

/** @param {any} conn Engine.IO's socket @returns {boolean} */
export const takesCompressed = (conn) =>
  conn.transport.name === 'websocket' && conn.transport.socket[kTakesCompressed] === true

/**
 * @param {Buffer} frame a whole one, unmasked
 * @param {number} from bytes from which it is worth it
 * @returns {Buffer} the same frame if it is shorter than that, or would not become so
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
 * In the place of ws's own: the zlib state that it inflates a message with would stay with the connection. Its
 * bounds hold: `maxPayload` for what comes out, and how many inflate at a time.
 * @this {any} ws's PerMessageDeflate
 * @param {Buffer} data @param {boolean} fin @param {(error: Error | null, message?: Buffer) => void} done
 */
function decompress (data, fin, done) {
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

/**
 * Engine.IO's `wsEngine` where frames are compressed. Engine.IO itself knows nothing of it, and goes on taking frames
 * that are made beforehand.
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
      // a client may ask for a smaller window than the shared frames were made with: it gets the plain ones
      if (extension !== undefined && (extension.params.server_max_window_bits ?? WINDOW_BITS) === WINDOW_BITS) {
        ws[kTakesCompressed] = true
        extension.params = AGREED
        extension._options = SETTINGS
      }
      done(ws, req)
    })
  }
}
