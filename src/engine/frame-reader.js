import { isUtf8 } from 'node:buffer'
import { Growing } from './growing-buffer.js'
import { Utf8Prefix } from './utf8-prefix.js'

/**
 * Reads the frames that a WebSocket client sends (RFC 6455, section 5), without extensions.
 *
 * Nothing is kept of a connection that sends whole frames. What comes in pieces is gathered in a buffer that grows with
 * what has come, however long the frame says it is, and up to `maxPayload`.
 */

const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10]
/** It stands between the length and the payload. */
const MASK_LENGTH = 4
/** Browsers send messages of our size in a few pieces. */
const MAX_FRAGMENTS = 1024

/** How a WebSocket is closed (RFC 6455, 7.4.1). */
export const CloseCode = Object.freeze({
  PROTOCOL_ERROR: 1002,
  NO_CODE: 1005,
  INVALID_TEXT: 1007,
  TOO_BIG: 1009,
  TRY_AGAIN_LATER: 1013
})

/** What the client sends is no WebSocket, or more than is allowed. */
export class FrameError extends Error {
  /** @param {number} closeCode @param {string} message for the client, less than 124 bytes */
  constructor (closeCode, message) {
    super(message)
    this.closeCode = closeCode
  }
}

/**
 * @typedef {object} FrameSink
 * @property {(message: string | Buffer) => void} onMessage text, or a view of what was received
 * @property {(payload: Buffer) => void} onPing a view of what was received
 * @property {(payload: Buffer) => void} onCloseFrame its code and reason are in order
 */

export class FrameReader {
  /** Less than a frame's header. @type {Buffer | null} */
  #rest = null
  /** A frame of which not everything has come. @type {Growing | null} */
  #frame = null
  /** How long that one is. */
  #due = 0
  /** How much of it is unmasked and was looked at. */
  #clear = 0
  /** The text of a message that comes in pieces, as far as it has come. @type {Utf8Prefix | null} */
  #utf8 = null
  /**
   * A message of which not all frames have come.
   * @type {{ text: boolean, fragments: number, payload: Growing } | null}
   */
  #message = null

  /** Bytes of memory that are taken for what has come and is no message yet. */
  get held () {
    return (this.#rest?.length ?? 0) + (this.#frame?.capacity ?? 0) + (this.#message?.payload.capacity ?? 0)
  }

  /** Forgets what has come. */
  clear () {
    this.#rest = this.#frame = this.#message = this.#utf8 = null
  }

  /**
   * @param {Buffer} chunk overwritten
   * @param {number} maxPayload bytes of a message
   * @param {FrameSink} sink
   * @returns {number} frames that were no message and did not end one: pings, pongs and fragments
   * @throws {FrameError}
   */
  read (chunk, maxPayload, sink) {
    let bytes = chunk
    if (this.#rest !== null) {
      bytes = Buffer.concat([this.#rest, chunk])
      this.#rest = null
    }
    let at = 0
    let others = 0
    if (this.#frame !== null) {
      const frame = this.#frame
      at = Math.min(bytes.length, this.#due - frame.length)
      frame.put(bytes, 0, at, this.#due)
      if (frame.length < this.#due) {
        this.#look(frame)
        return 0
      }
      this.#frame = null
      if (!this.#take(frame.bytes, 0, this.#due, this.#clear, maxPayload, sink)) others++
    }
    while (at < bytes.length) {
      const length = this.#lengthOf(bytes, at, maxPayload)
      if (length === 0) {
        this.#rest = Buffer.allocUnsafeSlow(bytes.length - at)
        bytes.copy(this.#rest, 0, at)
        break
      }
      if (at + length > bytes.length) {
        this.#due = length
        this.#frame = new Growing()
        this.#frame.put(bytes, at, bytes.length, length)
        this.#clear = 0
        this.#look(this.#frame)
        break
      }
      if (!this.#take(bytes, at, at + length, 0, maxPayload, sink)) others++
      at += length
    }
    return others
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at where a frame begins
   * @param {number} maxPayload
   * @returns {number} of the whole frame; 0: its header has not come yet
   */
  #lengthOf (bytes, at, maxPayload) {
    const available = bytes.length - at
    if (available < 2) return 0
    const opcode = this.#check(bytes[at], bytes[at + 1])
    let length = bytes[at + 1] & 0x7f
    let header = 2 + MASK_LENGTH
    if (length === 126) {
      if (available < 4) return 0
      length = bytes.readUInt16BE(at + 2)
      header += 2
    } else if (length === 127) {
      if (available < 10) return 0
      length = bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6)
      header += 8
    }
    if (opcode < CLOSE && length + (this.#message?.payload.length ?? 0) > maxPayload)
      throw new FrameError(CloseCode.TOO_BIG, `message is larger than ${maxPayload} bytes`)
    return header + length
  }

  /** @param {number} first @param {number} second the bytes that a frame begins with @returns {number} opcode */
  #check (first, second) {
    const opcode = first & 0x0f
    const fin = (first & 0x80) !== 0
    if ((first & 0x70) !== 0) throw new FrameError(CloseCode.PROTOCOL_ERROR, 'reserved bits are set')
    if ((second & 0x80) === 0) throw new FrameError(CloseCode.PROTOCOL_ERROR, 'a frame is not masked')
    if (opcode === CLOSE || opcode === PING || opcode === PONG) {
      if (!fin || (second & 0x7f) > 125)
        throw new FrameError(CloseCode.PROTOCOL_ERROR, 'a control frame is too long, or a fragment')
    } else if (opcode === CONTINUATION ? this.#message === null : opcode > BINARY || this.#message !== null) {
      throw new FrameError(CloseCode.PROTOCOL_ERROR, 'a frame of another kind was expected')
    }
    return opcode
  }

  /**
   * Looks at what has come of a text: what is not valid fails at once.
   * @param {Growing} frame of which more is to come
   */
  #look ({ bytes }) {
    const opcode = bytes[0] & 0x0f
    if (opcode !== TEXT && !(opcode === CONTINUATION && this.#message?.text)) return
    const mask = maskOf(bytes, 0)
    const from = Math.max(this.#clear, mask + MASK_LENGTH)
    if (bytes.length <= from) return
    unmask(bytes, mask, from, bytes.length)
    this.#clear = bytes.length
    this.#checkText(bytes, from, bytes.length, false)
  }

  /** @param {Buffer} bytes @param {number} start @param {number} end of a piece, unmasked @param {boolean} last */
  #checkText (bytes, start, end, last) {
    this.#utf8 ??= new Utf8Prefix()
    if (!this.#utf8.put(bytes, start, end) || (last && !this.#utf8.complete)) throw invalidText()
    if (last) this.#utf8 = null
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end of a whole frame, checked
   * @param {number} clear up to where it was unmasked and looked at before
   * @param {number} maxPayload
   * @param {FrameSink} sink
   * @returns {boolean} whether it was a message, or the end of one
   */
  #take (bytes, start, end, clear, maxPayload, sink) {
    const first = bytes[start]
    const mask = maskOf(bytes, start)
    const from = Math.max(clear, mask + MASK_LENGTH)
    unmask(bytes, mask, from, end)
    const payload = bytes.subarray(mask + MASK_LENGTH, end)
    const opcode = first & 0x0f
    if (opcode >= CLOSE) {
      if (opcode === PING) sink.onPing(payload)
      else if (opcode === CLOSE) sink.onCloseFrame(checkClose(payload))
      return false
    }
    const fin = (first & 0x80) !== 0
    if (fin && this.#message === null) {
      if (opcode !== TEXT) sink.onMessage(payload)
      else {
        if (this.#utf8 !== null) this.#checkText(bytes, from, end, true)
        else if (!isUtf8(payload)) throw invalidText()
        sink.onMessage(payload.toString())
      }
      return true
    }
    const message = (this.#message ??= { text: opcode === TEXT, fragments: 0, payload: new Growing() })
    if (++message.fragments > MAX_FRAGMENTS) throw new FrameError(CloseCode.TOO_BIG, 'message has too many fragments')
    if (message.text) this.#checkText(bytes, from, end, fin)
    message.payload.put(payload, 0, payload.length, maxPayload)
    if (!fin) return false
    this.#message = null
    const whole = message.payload.bytes
    sink.onMessage(message.text ? whole.toString() : whole)
    return true
  }
}

/** @param {Buffer} bytes @param {number} start of a frame @returns {number} where its mask is; the payload follows */
function maskOf (bytes, start) {
  const length = bytes[start + 1] & 0x7f
  return start + (length < 126 ? 2 : length === 126 ? 4 : 10)
}

/**
 * @param {Buffer} bytes overwritten
 * @param {number} mask where it is; the payload follows
 * @param {number} from
 * @param {number} end of what is still masked
 */
function unmask (bytes, mask, from, end) {
  const start = mask + MASK_LENGTH
  for (let i = from; i < end; i++) bytes[i] ^= bytes[mask + ((i - start) & 3)]
}

const invalidText = () => new FrameError(CloseCode.INVALID_TEXT, 'text is not valid UTF-8')

/** @param {Buffer} payload of a close frame @returns {Buffer} the same */
function checkClose (payload) {
  if (payload.length === 0) return payload
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0)
  // RFC 6455, 7.4, and the IANA registry of close codes
  if (!(
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) ||
    (code >= 3000 && code <= 4999)
  )) {
    throw new FrameError(CloseCode.PROTOCOL_ERROR, 'close code is not valid')
  }
  if (!isUtf8(payload.subarray(2))) throw new FrameError(CloseCode.INVALID_TEXT, 'close reason is not valid UTF-8')
  return payload
}
