import { decodeMsgpack } from '../wire/msgpack.js'

/**
 * Packets in the `writeBuffer` of an Engine.IO socket, and the documents that they are about: what is still queued in
 * this process can be taken back.
 *
 * @typedef {{ data?: any, options?: any }} Packet Engine.IO's
 */

/** Type of a Socket.IO packet. */
export const ACK = 3

/** @type {WeakMap<Packet, string>} */
const documents = new WeakMap()

/** @param {Packet} packet @param {string} guid */
export const noteDocument = (packet, guid) => { documents.set(packet, guid) }

/**
 * Notes the document of all packets that `write` queues.
 * @param {{ writeBuffer: Packet[] }} conn
 * @param {string} guid
 * @param {() => void} write
 */
export function noteWrites (conn, guid, write) {
  const before = conn.writeBuffer
  const queued = before.length
  write()
  const { writeBuffer } = conn
  // another array: the queue before was written
  for (let i = writeBuffer === before ? queued : 0; i < writeBuffer.length; i++) noteDocument(writeBuffer[i], guid)
}

/**
 * Removes the packets about a document from the queue.
 * @param {{ writeBuffer: Packet[] }} conn
 * @param {string} guid
 * @returns {Packet[]} what was removed
 */
export function takeBack ({ writeBuffer }, guid) {
  const taken = []
  let kept = 0
  for (const packet of writeBuffer) {
    if (documents.get(packet) === guid) taken.push(packet)
    else writeBuffer[kept++] = packet
  }
  if (kept < writeBuffer.length) writeBuffer.length = kept
  return taken
}

/**
 * @param {unknown} data of a packet that Engine.IO has queued
 * @param {import('../wire/packet.js').Codec} codec
 * @returns {number | undefined} id of the request that it answers
 */
export function answeredBy (data, codec) {
  if (codec === 'json') {
    // an acknowledgement, or one with attachments: Socket.IO protocol v5
    const id = typeof data === 'string' ? /^(?:3|6\d+-)(\d+)\[/.exec(data)?.[1] : undefined
    return id === undefined ? undefined : Number(id)
  }
  if (!Buffer.isBuffer(data)) return undefined
  const packet = /** @type {any} */ (decodeMsgpack(data))
  return packet?.type === ACK ? packet.id : undefined
}

/** @param {Packet} packet @returns {number} bytes of its frames */
export function sizeOf ({ data, options }) {
  /** @type {Buffer[] | undefined} */
  const frames = options?.wsPreEncodedFrame
  if (frames !== undefined) return frames.reduce((sum, { length }) => sum + length, 0)
  return typeof data === 'string' ? Buffer.byteLength(data) : data?.byteLength ?? 0
}
