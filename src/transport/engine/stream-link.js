import { EventEmitter } from 'node:events'
import { setReader } from './socket-reader.js'
import { CloseCode } from './frame-reader.js'
import { kOwner, unsentOf } from './link.js'

/**
 * A client's connection with a queue of what the kernel has not taken, from its first byte to its end: a WebSocket
 * (websocket-link.js) and an MQTT session over TCP (transport/mqtt) extend it by what they read and write.
 *
 * Events: `packetCreate`, `drain`, `ready`, `close`, as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 *
 * @typedef {object} SessionServer where the session belongs
 * @property {number} maxBytes largest message of a client
 * @property {{ holds: (session: any, more: number) => void }} inputLimits
 * @property {(session: any, frames: number) => void} onFrames
 * @property {(session: any) => void} ended called when the session has ended
 * @property {import('./deadlines.js').Deadlines} closing connections that were closed here
 * @property {Pick<import('../../base/common/clock.js').Clock, 'soon' | 'timer'>} clock
 *
 * @typedef {object} Packet
 * @property {string} type Engine.IO's
 * @property {any} [data]
 * @property {{ wsPreEncodedFrame?: Buffer[], compress?: boolean }} [options] the encoded frames of this packet
 * @property {() => void} [callback] called when the packet is written
 */

const EMPTY = Buffer.alloc(0)
/** The empty write buffer. @type {Packet[]} */
const NOTHING = []

/** @abstract */
export class StreamLink extends EventEmitter {
  /** Set from the beginning, so that its place is within the object. @type {any} */
  [kOwner] = undefined
  /** @type {'open' | 'closing' | 'closed'} */
  readyState = 'open'
  /** Packets queued until the kernel takes more. @type {Packet[]} */
  writeBuffer = NOTHING
  /** The kernel has not taken everything that was written. */
  #blocked = false

  /**
   * @param {string} id
   * @param {SessionServer} server
   * @param {import('./request.js').Upgrade | null} request checked; null once the client is admitted
   * @param {import('net').Socket | null} netSocket null: it is opened later, or never
   */
  constructor (id, server, request, netSocket) {
    super()
    this.id = id
    this.server = server
    this.request = request
    /** Largest message; smaller until the client is admitted (transport/admission/input-limits.js). */
    this.maxBytes = server.maxBytes
    this.netSocket = /** @type {import('net').Socket} */ (netSocket)
    if (netSocket !== null) setReader(netSocket, this)
  }

  /** Frees the table of listeners of a session that has none: EventEmitter makes another one for the first. */
  dropListeners () { /** @type {any} */ (this)._events = undefined }

  /** A packet is about to be written or queued. @param {Packet} packet */
  creates (packet) { this.emit('packetCreate', packet) }

  /** @abstract @param {Buffer} _chunk received; overwritten */
  received (_chunk) { throw new Error('not implemented') }

  /** @abstract @param {Packet} _packet @returns {Buffer} its frames */
  frameOf (_packet) { throw new Error('not implemented') }

  /** Closes with a reason. @abstract @param {number} _code @param {string} _reason less than 124 bytes */
  closeWith (_code, _reason) { throw new Error('not implemented') }

  get closing () { return this.server.closing }
  /** Engine.IO's transport. */
  get transport () { return this }
  get remoteAddress () { return this.netSocket.remoteAddress }
  get writable () { return !this.#blocked }
  /** Bytes that the kernel has not taken yet. */
  get bufferedAmount () { return this.netSocket.writableLength }

  /** The connection, or the client's side of it, has ended. */
  ended () { this.onClose('transport close') }

  /**
   * @param {string} type
   * @param {any} [data]
   * @param {any} [options] `wsPreEncodedFrame`: the encoded frames of this packet
   * @param {() => void} [callback] called when the packet is written
   */
  sendPacket (type, data, options, callback) {
    if (this.readyState !== 'open') return
    const packet = { type, data, options, callback }
    this.creates(packet)
    if (this.writable) return this.put([packet])
    // A listener may have closed it.
    if (this.readyState === 'open') this.writeBuffer.push(packet)
  }

  /** @param {Packet[]} packets written together */
  put (packets) {
    this.writeNow(
      packets.length === 1 ? this.frameOf(packets[0]) : Buffer.concat(packets.map((packet) => this.frameOf(packet)))
    )
    for (const { callback } of packets) callback?.()
    this.emit('drain')
  }

  /**
   * Writes frames as they are, after everything that was written before. The write buffer must be empty.
   * @param {Buffer} frames
   */
  writeNow (frames) {
    this.netSocket.write(frames)
    if (this.netSocket.writableLength === 0 || this.#blocked) return
    this.#blocked = true
    this.writeBuffer = []
    // Called when the kernel has taken everything before it. Only slow connections need this closure.
    this.netSocket.write(EMPTY, () => this.#taken())
  }

  #taken () {
    this.#blocked = false
    this.flush()
    if (!this.#blocked) this.emit('ready')
  }

  /** Writes the queued packets. The kernel takes more. */
  flush () {
    const waiting = this.writeBuffer
    this.writeBuffer = NOTHING
    if (waiting.length > 0 && this.readyState !== 'closed') this.put(waiting)
  }

  /**
   * @param {boolean} [discard] closes at once; default: after the queued packets are written
   * @param {number} [code] of the close frame; default: none
   * @param {string} [reason] less than 124 bytes
   * @returns {void}
   */
  close (discard, code = CloseCode.NO_CODE, reason = '') {
    if (this.readyState === 'closed') return
    if (discard !== true && this.writeBuffer.length > 0) {
      if (this.readyState === 'open') {
        this.once('drain', () => this.close(true, code, reason))
        // the client may never read them
        this.closing.add(this.netSocket)
      }
      this.closes()
      return
    }
    this.closeWith(code, reason)
  }

  /** Takes no more to write. */
  closes () { this.readyState = 'closing' }

  // Link (link.js)

  /** @param {boolean} _light */
  begin (_light) {}
  admit () {}

  /** @param {Buffer} frames @returns {boolean} */
  writeFrames (frames) {
    if (this.readyState !== 'open' || this.#blocked) return false
    this.writeNow(frames)
    return true
  }

  unsentBytes () { return unsentOf(this.netSocket) }

  /** @param {string} [reason] */
  terminate (reason = 'transport close') {
    this.onClose(reason)
    this.netSocket.destroy()
  }

  /** @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    if (this.readyState === 'closed') return
    this.readyState = 'closed'
    this.writeBuffer = NOTHING
    this.server.ended(this)
    this.emit('close', reason, description)
    this.request = null
  }
}
