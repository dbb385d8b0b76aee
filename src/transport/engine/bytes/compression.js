import { createRequire } from 'node:module'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { frameFor } from '../../../wire/packet.js'

const require = createRequire(import.meta.url)
/** Missing in its types. @type {any} */
const { PerMessageDeflate, extension } = require('ws')

/**
 * Compression once per record and codec: permessage-deflate (RFC 7692) without context takeover, so that one deflated
 * frame serves every client that negotiated it, and a connection keeps no state of zlib. ws negotiates.
 */

const EXTENSION = 'permessage-deflate'
const WINDOW_BITS = 15
const RSV1 = 0x40
/**
 * Records are compressed synchronously, so that the next one cannot overtake: the fastest level (2 KB: 0.04 ms).
 */
const LEVEL = 1
/** Bytes that end every deflated message and are not sent (RFC 7692, 7.2.1). */
const TAIL = Buffer.from([0, 0, 0xff, 0xff])
const INFLATE = { finishFlush: constants.Z_SYNC_FLUSH }
const SETTINGS = {
  isServer: true,
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  // An offer with a smaller window than the shared frames use is not accepted.
  serverMaxWindowBits: WINDOW_BITS
}

/**
 * @param {string | undefined} offered the header Sec-WebSocket-Extensions of a request
 * @returns {string | undefined} the same header of the response; undefined: no compression
 */
export function acceptedDeflate (offered) {
  if (offered === undefined) return undefined
  try {
    const offers = extension.parse(offered)[EXTENSION]
    return offers && extension.format({ [EXTENSION]: [new PerMessageDeflate(SETTINGS).accept(offers)] })
  } catch {
    // An offer that cannot be read or accepted is declined (RFC 7692, 5.1).
    return undefined
  }
}

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
  const length = deflated.length - TAIL.length
  if (length >= payload.length) return frame
  const { frame: compressed, at } = frameFor(frame[0] | RSV1, length)
  deflated.copy(compressed, at, 0, length)
  return compressed
}

/**
 * Inflates a message at once: a stream of zlib costs more CPU than a handshake.
 * @param {Buffer} deflated
 * @param {number} max bytes of the message
 * @returns {Buffer | undefined} undefined: it is larger
 * @throws if it is damaged
 */
export function inflated (deflated, max) {
  try {
    return inflateRawSync(Buffer.concat([deflated, TAIL]), { ...INFLATE, maxOutputLength: max })
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    return undefined
  }
}
