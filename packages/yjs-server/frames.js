import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * A document's file: a line of JSON, then frames. A frame is a mark of 4 bytes, the length of its payload (4 bytes, the
 * highest first), its kind (1 byte), a checksum of kind and payload (4 bytes), and the payload. The checksum starts
 * with the file's own random number, so that no content of a document can look like a frame.
 */

export const KIND = { update: 1, position: 2, part: 3, dropped: 4 }
const MARK = Buffer.from('\xffYJS', 'latin1')
const HEAD = 13
const FORMAT = 1

/** @typedef {{ kind: number, payload: Uint8Array }} Frame */
/** @typedef {{ format: number, guid: string, salt: number }} Header */

/** @param {string} guid @returns {Header} */
export const newHeader = (guid) => ({ format: FORMAT, guid, salt: randomBytes(4).readUInt32BE() })

/** @param {Header} header */
export const encodeHeader = (header) => Buffer.from(`${JSON.stringify(header)}\n`)

/** @param {Frame} frame @param {number} salt @returns {Buffer} */
export function encodeFrame ({ kind, payload }, salt) {
  const frame = Buffer.alloc(HEAD + payload.length)
  MARK.copy(frame)
  frame.writeUInt32BE(payload.length, 4)
  frame[8] = kind
  frame.set(payload, HEAD)
  frame.writeUInt32BE(checksum(kind, payload, salt), 9)
  return frame
}

/**
 * @param {Buffer} content
 * @returns {{ header: Header, frames: Frame[], base: number, length: number, damaged: boolean }} base: up to the end of
 *   the first frame, the snapshot. length: up to the end of the last whole frame; what follows is a write that was
 *   never confirmed. damaged: bytes before it are lost
 * @throws {Error} it is no such file
 */
export function decodeFile (content) {
  const end = content.indexOf('\n')
  const header = JSON.parse(content.subarray(0, Math.max(end, 0)).toString())
  if (header.format !== FORMAT) throw new Error(`its format is ${header.format}, not ${FORMAT}`)
  const frames = []
  let [base, length] = [end + 1, end + 1]
  let damaged = false
  for (let at = length; at !== -1;) {
    const frame = frameAt(content, at, header.salt)
    if (frame === null) {
      at = content.indexOf(MARK, at + 1)
      continue
    }
    damaged ||= at !== length
    frames.push(frame)
    at = length = at + HEAD + frame.payload.length
    if (frames.length === 1) base = length
  }
  return { header, frames, base, length, damaged }
}

/** @param {Buffer} content @param {number} at @param {number} salt @returns {Frame | null} */
function frameAt (content, at, salt) {
  if (at + HEAD > content.length || !content.subarray(at, at + 4).equals(MARK)) return null
  const end = at + HEAD + content.readUInt32BE(at + 4)
  if (end > content.length) return null
  const [kind, payload] = [content[at + 8], content.subarray(at + HEAD, end)]
  return checksum(kind, payload, salt) === content.readUInt32BE(at + 9) ? { kind, payload } : null
}

/** @param {number} kind @param {Uint8Array} payload @param {number} salt */
const checksum = (kind, payload, salt) => crc32(payload, crc32(Buffer.of(kind), salt))
