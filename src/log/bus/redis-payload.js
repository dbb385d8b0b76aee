import { decodeEnvelope } from '../../wire/envelope.js'

/**
 * The format of messages in Redis: on a document's channel `<epoch>:<offset>:<envelope>` (written by publish.lua), on
 * a worker's channel one or more envelopes, each preceded by its length (4 bytes). With Redis Cluster a revoke is also
 * sent on the document's channel: the worker's message after the byte `ORDER`.
 */

const COLON = 0x3a
/** Epochs never begin with this byte. */
const ORDER = 0x21

/** @param {Buffer} message of a worker's channel @returns {Buffer} for a document's */
export const orderAmongRecords = (message) => Buffer.concat([Buffer.of(ORDER), message])

/** @param {Buffer} payload of a document's channel @returns {Buffer | null} a worker's message; null: a record */
export const orderOf = (payload) => payload[0] === ORDER ? payload.subarray(1) : null

/**
 * @param {Buffer} payload
 * @returns {import('./contract.js').BusRecord}
 * @throws {Error} if it is malformed
 */
export function decodeRecord (payload) {
  const first = payload.indexOf(COLON)
  const second = payload.indexOf(COLON, first + 1)
  if (first === -1 || second === -1) throw new Error('message: the position is missing')
  const offset = Number(payload.toString('latin1', first + 1, second))
  if (!Number.isSafeInteger(offset) || offset < 0) throw new Error('message: invalid offset')
  return { epoch: payload.toString('latin1', 0, first), offset, ...decodeEnvelope(payload.subarray(second + 1)) }
}

/** @param {Buffer[]} envelopes @returns {Buffer} */
export function encodeDirect (envelopes) {
  const parts = envelopes.flatMap((envelope) => {
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(envelope.length)
    return [length, envelope]
  })
  return Buffer.concat(parts)
}

/**
 * @param {Buffer} payload
 * @returns {ReturnType<typeof decodeEnvelope>[]}
 * @throws {Error} if it is malformed
 */
export function decodeDirect (payload) {
  const decoded = []
  for (let at = 0; at < payload.length;) {
    const end = at + 4 + payload.readUInt32BE(at)
    if (end > payload.length) throw new Error('message: truncated envelope')
    decoded.push(decodeEnvelope(payload.subarray(at + 4, end)))
    at = end
  }
  return decoded
}
