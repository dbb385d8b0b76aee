/**
 * WebSocket frames for a light client (RFC 6455, section 5.2): masked when sent, unmasked when received. Without
 * fragments and extensions, because the client offers none.
 */
import { randomBytes } from 'node:crypto'

const OPCODE = 0x0f
export const TEXT = 0x1
export const BINARY = 0x2
export const CLOSE = 0x8
export const PING = 0x9
export const PONG = 0xa
const FIN = 0x80
const MASKED = 0x80

// One key for all frames: masking protects proxies from web pages, and neither is involved here. The work for the
// server is the same.
const MASK = randomBytes(4)

/**
 * @param {string | Buffer} content
 * @param {number} [opcode] default: text or binary, as the content
 * @returns {Buffer}
 * @throws {RangeError} for more than the two-byte length allows
 */
export function frameOf (content, opcode = typeof content === 'string' ? TEXT : BINARY) {
  const length = Buffer.byteLength(content)
  if (length > 0xffff) throw new RangeError(`a frame of ${length} bytes`)
  const at = length < 126 ? 6 : 8
  const frame = Buffer.allocUnsafe(at + length)
  frame[0] = FIN | opcode
  if (length < 126) {
    frame[1] = MASKED | length
  } else {
    frame[1] = MASKED | 126
    frame.writeUInt16BE(length, 2)
  }
  MASK.copy(frame, at - 4)
  if (typeof content === 'string') frame.write(content, at)
  else content.copy(frame, at)
  for (let i = 0; i < length; i++) frame[at + i] ^= MASK[i & 3]
  return frame
}

/**
 * Parses the complete frames at the front of the received bytes.
 *
 * @param {Buffer} bytes
 * @param {(opcode: number, payload: Buffer) => void} onFrame
 * @returns {Buffer} the rest: the beginning of a frame, or empty
 */
export function readFrames (bytes, onFrame) {
  let at = 0
  while (bytes.length - at >= 2) {
    const short = bytes[at + 1]
    const header = short < 126 ? 2 : short === 126 ? 4 : 10
    if (bytes.length - at < header) break
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6)
    if (bytes.length - at < header + length) break
    onFrame(bytes[at] & OPCODE, bytes.subarray(at + header, at + header + length))
    at += header + length
  }
  return at === 0 ? bytes : bytes.subarray(at)
}
