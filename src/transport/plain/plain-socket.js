import { kListener, kOwner } from '../engine/link.js'
import { queryOf } from '../engine/request.js'
import { WebSocketLink } from '../engine/websocket-link.js'

/** A ping of the WebSocket protocol without a payload (RFC 6455, 5.5.2): clients answer it by themselves. */
const PING = Buffer.from([0x89, 0])
/** The client has closed on purpose, and is not expected back (RFC 6455, 7.4.1). */
const NORMAL = 1000

/** The handshake of a client that is admitted: the same object for all. */
const NOTHING = Object.freeze({ headers: {}, query: {}, auth: {} })

/**
 * The WebSocket of a plain client: a message is one event or one answer, which the door reads.
 *
 * @typedef {import('../engine/link.js').Link} Link
 *
 * @typedef {import('../engine/websocket-link.js').SessionServer & {
 *   listener: { name: string },
 *   onMessage: (session: PlainSocket, message: string | Buffer) => void,
 *   onPong: (session: PlainSocket) => void,
 *   onEnd: (session: PlainSocket, reason: string) => void }} PlainServer
 */

/** @implements {Link} */
export class PlainSocket extends WebSocketLink {
  /** Messages that came during its admission; null: the admission has not begun. @type {(string | Buffer)[] | null} */
  early = null
  /** Bytes that are written with the next ones: one write less. @type {Buffer | null} */
  #held = null
  /** Whether the client closed on purpose. */
  left = false
  /**
   * The part of the request, and of the first message, that the login reads.
   * @type {{ headers: import('http').IncomingHttpHeaders, query: Record<string, string>, auth: any }}
   */
  handshake

  /**
   * @param {string} id
   * @param {PlainServer} server
   * @param {import('../engine/request.js').Upgrade} request checked
   * @param {import('net').Socket} netSocket
   * @param {import('../../wire/packet.js').Codec} codec
   */
  constructor (id, server, request, netSocket, codec) {
    super(id, server, request, netSocket)
    this.dropListeners()
    this.plainServer = server
    this.codec = codec
    this.handshake = { headers: request.headers, query: queryOf(request.url), auth: {} }
  }

  get [kListener] () { return this.plainServer.listener.name }
  /** The session of the client's connection: itself. */
  get conn () { return this }
  /** Pings are answered by its WebSocket library, not by a page that may sleep: their round trips set the timeout. */
  get answersAtOnce () { return true }

  /** Whether its client's id is its own: there is one connection with it. */
  get exclusive () { return true }

  /** @param {Buffer} bytes written with the next ones, as the answer to the request with the first message */
  writesLater (bytes) { this.#held = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]) }

  /** @override @param {Buffer} frames */
  writeNow (frames) {
    const held = this.#takeHeld()
    super.writeNow(held === null ? frames : Buffer.concat([held, frames]))
  }

  /** @override @param {number} code @param {string} reason */
  endWith (code, reason) { super.endWith(code, reason, this.#takeHeld()) }

  #takeHeld () {
    const held = this.#held
    this.#held = null
    return held
  }

  /** Frees what only the handshake needs. */
  admit () {
    this.request = null
    this.handshake = NOTHING
  }

  /** @override @param {import('../engine/websocket-link.js').Packet} packet */
  creates (packet) { this[kOwner]?.writes(packet) }

  /** @override @param {string | Buffer} message */
  onMessage (message) { if (this.readyState === 'open') this.plainServer.onMessage(this, message) }

  // the rest of a chunk is read after the end as well
  onPong () { if (this.readyState === 'open') this.plainServer.onPong(this) }

  /** @override @param {Buffer} payload */
  onCloseFrame (payload) {
    this.left = payload.length > 0 && payload.readUInt16BE(0) === NORMAL
    super.onCloseFrame(payload)
  }

  /**
   * Queues or writes a message.
   * @param {unknown} _data not needed: the frames are made
   * @param {{ wsPreEncodedFrame: Buffer[], answers?: number }} options answers: id of the request that it answers
   */
  write (_data, options) { this.sendPacket('message', undefined, options) }

  /** @override @param {import('../engine/websocket-link.js').Packet} packet @returns {Buffer} */
  frameOf ({ options }) {
    const frames = /** @type {Buffer[]} */ (options?.wsPreEncodedFrame)
    return frames.length === 1 ? frames[0] : Buffer.concat(frames)
  }

  sendPing () { this.writeFrames(PING) }

  /** @override @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    super.onClose(reason, description)
    this.plainServer.onEnd(this, reason)
  }
}
