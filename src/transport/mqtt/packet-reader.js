/**
 * Splits the bytes of a client into MQTT control packets, each as one piece (MQTT 5, 2.1). An unfinished packet takes
 * at most twice the bytes that have come of it.
 *
 * @typedef {(bytes: Buffer, from: number, to: number) => void} OnPacket gets bytes with a packet in them, valid during
 *   the call only, and where it begins and ends. An object for each would be one for each acknowledgement
 */

/** Bytes that are no packet, or one that may not come. */
export class MqttError extends Error {
  /** @param {number} reason reason code of version 5 @param {string} message for the log and the client */
  constructor (reason, message) {
    super(message)
    this.reason = reason
  }
}

/** Reason codes of MQTT 5 (2.4) that the transport itself has. */
export const MALFORMED = 0x81
export const PROTOCOL_ERROR = 0x82
const PACKET_TOO_LARGE = 0x95

/** The type byte and up to four bytes of the length. */
const MAX_HEAD = 5
const LEAST = 64
const NOTHING = Buffer.alloc(0)

export class PacketReader {
  #bytes = NOTHING
  #length = 0
  /** Of the unfinished packet; 0: not known yet. */
  #total = 0

  /** Memory of the unfinished packet. */
  get held () { return this.#bytes.length }

  /**
   * @param {Buffer} chunk
   * @param {number} maxBytes largest packet
   * @param {OnPacket} onPacket called with each packet
   * @throws {MqttError}
   */
  read (chunk, maxBytes, onPacket) {
    for (let at = 0; at < chunk.length;) at = this.#next(chunk, at, maxBytes, onPacket)
  }

  /**
   * @param {Buffer} chunk
   * @param {number} at
   * @param {number} maxBytes
   * @param {OnPacket} onPacket
   * @returns {number} where to go on
   */
  #next (chunk, at, maxBytes, onPacket) {
    if (this.#length === 0) {
      const total = totalOf(chunk, at, chunk.length, maxBytes)
      if (total > 0 && at + total <= chunk.length) {
        onPacket(chunk, at, at + total)
        return at + total
      }
      this.#total = total
      this.#append(chunk.subarray(at))
      return chunk.length
    }
    // the head byte by byte: it has five at most
    const end = this.#total === 0 ? at + 1 : Math.min(chunk.length, at + this.#total - this.#length)
    this.#append(chunk.subarray(at, end))
    if (this.#total === 0) this.#total = totalOf(this.#bytes, 0, this.#length, maxBytes)
    if (this.#length === this.#total) {
      const bytes = this.#bytes
      const total = this.#total
      this.clear()
      onPacket(bytes, 0, total)
    }
    return end
  }

  /** @param {Buffer} part copied: the chunk is overwritten */
  #append (part) {
    const wanted = this.#length + part.length
    if (wanted > this.#bytes.length) {
      const room = Math.max(LEAST, wanted, Math.min(2 * this.#bytes.length, this.#total))
      const bytes = Buffer.allocUnsafeSlow(room)
      this.#bytes.copy(bytes, 0, 0, this.#length)
      this.#bytes = bytes
    }
    part.copy(this.#bytes, this.#length)
    this.#length = wanted
  }

  clear () {
    this.#bytes = NOTHING
    this.#length = this.#total = 0
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at where the packet begins
 * @param {number} end of the bytes
 * @param {number} maxBytes
 * @returns {number} bytes of the whole packet; 0: its head is not complete
 * @throws {MqttError}
 */
function totalOf (bytes, at, end, maxBytes) {
  let length = 0
  for (let size = 1; size < MAX_HEAD; size++) {
    if (at + size >= end) return 0
    const byte = bytes[at + size]
    length += (byte & 127) * 128 ** (size - 1)
    if (byte < 128) {
      const total = 1 + size + length
      if (total > maxBytes) throw new MqttError(PACKET_TOO_LARGE, `a packet of ${total} bytes, ${maxBytes} are allowed`)
      return total
    }
  }
  throw new MqttError(MALFORMED, 'the length of a packet has more than four bytes')
}
