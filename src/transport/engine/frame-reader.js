import { isUtf8 } from 'node:buffer'
import { inflated } from './bytes/compression.js'
import { Growing } from './bytes/growing-buffer.js'
import { Utf8Prefix } from './bytes/utf8-prefix.js'

/**
 * Reads the frames that a WebSocket client sends (RFC 6455, section 5), and compressed messages (RFC 7692) if the sink
 * has negotiated that.
 *
 * A connection that sends whole frames needs no memory here. Partial frames and fragments are collected in a buffer
 * that grows with the bytes received, not with the announced length, up to `maxPayload`.
 */

const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10]
/** Bit of the first frame of a compressed message (RFC 7692, 6). */
const RSV1 = 0x40
/** Bytes of the mask, between length and payload. */
const MASK_LENGTH = 4
/** Fragments of one message; browsers send a few. */
const MAX_FRAGMENTS = 1024

/** Close codes (RFC 6455, 7.4.1). */
export const CloseCode = Object.freeze({
  PROTOCOL_ERROR: 1002,
  NO_CODE: 1005,
  INVALID_TEXT: 1007,
  POLICY: 1008,
  TOO_BIG: 1009,
  TRY_AGAIN_LATER: 1013
})

/** The client violates the protocol or a limit. */
export class FrameError extends Error {
  /** @param {number} closeCode @param {string} message for the client, less than 124 bytes */
  constructor (closeCode, message) {
    super(message)
    this.closeCode = closeCode
  }
}

/**
 * @typedef {object} FrameSink
 * @property {boolean} [deflates] whether messages may be compressed; default false
 * @property {string} [readyState] `closed`: nothing more is read
 * @property {boolean} [ignores] whether it drops messages: then compressed ones are not inflated, which costs more
 * @property {(message: string | Buffer) => void} onMessage text, or a view of the received bytes
 * @property {(payload: Buffer) => void} onPing a view of the received bytes
 * @property {() => void} [onPong]
 * @property {(payload: Buffer) => void} onCloseFrame code and reason are checked
 */

export class FrameReader {
  /** Part of a frame's header. @type {Buffer | null} */
  #rest = null
  /** A frame received in part. @type {Growing | null} */
  #frame = null
  /** Length of that frame, bytes. */
  #due = 0
  /** Bytes of the frame that are unmasked and checked. */
  #clear = 0
  /** Check of a text that is received in pieces. @type {Utf8Prefix | null} */
  #utf8 = null
  /**
   * A message received in part: its fragments.
   * @type {{ text: boolean, deflated: boolean, fragments: number, payload: Growing } | null}
   */
  #message = null

  /** Bytes of memory used by partial frames and messages. */
  get held () {
    return (this.#rest?.length ?? 0) + (this.#frame?.capacity ?? 0) + (this.#message?.payload.capacity ?? 0)
  }

  /** Drops everything received in part. */
  clear () {
    this.#rest = this.#frame = this.#message = this.#utf8 = null
  }

  /**
   * @param {Buffer} chunk overwritten
   * @param {number} maxPayload bytes of a message
   * @param {FrameSink} sink
   * @returns {number} frames that did not complete a message: pings, pongs and fragments
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
    // A flood of compressed messages would be inflated to its end.
    while (at < bytes.length && sink.readyState !== 'closed') {
      const length = this.#lengthOf(bytes, at, maxPayload, sink)
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
   * @param {number} at start of a frame
   * @param {number} maxPayload
   * @param {FrameSink} sink
   * @returns {number} length of the whole frame; 0: its header is incomplete
   */
  #lengthOf (bytes, at, maxPayload, sink) {
    const available = bytes.length - at
    if (available < 2) return 0
    const opcode = this.#check(bytes[at], bytes[at + 1], sink.deflates === true)
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
      throw tooLarge(maxPayload)
    return header + length
  }

  /**
   * @param {number} first byte of a frame
   * @param {number} second its second byte
   * @param {boolean} deflates whether messages may be compressed
   * @returns {number} opcode
   */
  #check (first, second, deflates) {
    const opcode = first & 0x0f
    const fin = (first & 0x80) !== 0
    const reserved = first & 0x70
    const isDeflated = deflates && reserved === RSV1 && (opcode === TEXT || opcode === BINARY)
    if (reserved !== 0 && !isDeflated) throw new FrameError(CloseCode.PROTOCOL_ERROR, 'reserved bits are set')
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
   * Checks the received part of a text, so that invalid text fails at once.
   * @param {Growing} frame incomplete
   */
  #look ({ bytes }) {
    const opcode = bytes[0] & 0x0f
    const deflated = this.#message?.deflated ?? (bytes[0] & RSV1) !== 0
    if (deflated || (opcode !== TEXT && !(opcode === CONTINUATION && this.#message?.text))) return
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
   * @param {number} clear end of the part that is unmasked and checked already
   * @param {number} maxPayload
   * @param {FrameSink} sink
   * @returns {boolean} whether it completed a message
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
      else if (opcode === PONG) sink.onPong?.()
      else if (opcode === CLOSE) sink.onCloseFrame(checkClose(payload))
      return false
    }
    const fin = (first & 0x80) !== 0
    const deflated = (first & RSV1) !== 0
    if (fin && this.#message === null) {
      if (deflated) {
        if (!sink.ignores) sink.onMessage(inflate(payload, opcode === TEXT, maxPayload))
      } else if (opcode !== TEXT) sink.onMessage(payload)
      else {
        if (this.#utf8 !== null) this.#checkText(bytes, from, end, true)
        else if (!isUtf8(payload)) throw invalidText()
        sink.onMessage(payload.toString())
      }
      return true
    }
    const message = (this.#message ??= { text: opcode === TEXT, deflated, fragments: 0, payload: new Growing() })
    if (++message.fragments > MAX_FRAGMENTS) throw new FrameError(CloseCode.TOO_BIG, 'message has too many fragments')
    if (message.text && !message.deflated) this.#checkText(bytes, from, end, fin)
    message.payload.put(payload, 0, payload.length, maxPayload)
    if (!fin) return false
    this.#message = null
    const whole = message.payload.bytes
    if (message.deflated) {
      if (!sink.ignores) sink.onMessage(inflate(whole, message.text, maxPayload))
    } else sink.onMessage(message.text ? whole.toString() : whole)
    return true
  }
}

/** @param {Buffer} bytes @param {number} start of a frame @returns {number} start of its mask; the payload follows */
function maskOf (bytes, start) {
  const length = bytes[start + 1] & 0x7f
  return start + (length < 126 ? 2 : length === 126 ? 4 : 10)
}

/**
 * @param {Buffer} bytes overwritten
 * @param {number} mask position of the mask; the payload follows
 * @param {number} from
 * @param {number} end of the masked bytes
 */
function unmask (bytes, mask, from, end) {
  const start = mask + MASK_LENGTH
  for (let i = from; i < end; i++) bytes[i] ^= bytes[mask + ((i - start) & 3)]
}

/**
 * @param {Buffer} payload of a whole message
 * @param {boolean} text
 * @param {number} maxPayload
 * @returns {string | Buffer} the message
 */
function inflate (payload, text, maxPayload) {
  let bytes
  try {
    bytes = inflated(payload, maxPayload)
  } catch {
    throw new FrameError(CloseCode.INVALID_TEXT, 'compressed message is damaged')
  }
  if (bytes === undefined) throw tooLarge(maxPayload)
  if (!text) return bytes
  if (!isUtf8(bytes)) throw invalidText()
  return bytes.toString()
}

/** @param {number} maxPayload */
const tooLarge = (maxPayload) => new FrameError(CloseCode.TOO_BIG, `message is larger than ${maxPayload} bytes`)

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
