import { createRequire } from 'node:module'
import { CloseCode, FrameError } from './frame-reader.js'
import { PING, PING_OPTIONS } from './link.js'
import { CLOSE, NOOP, Polling, TYPES } from './polling.js'
import { lightRequest } from './request.js'
import { WebSocketLink, bytesFrame, textFrame } from './websocket-link.js'

const require = createRequire(import.meta.url)
const { parser } = require('engine.io')

/**
 * An Engine.IO v4 session, from its first request to its last frame: Engine.IO's Socket, its transports and the
 * WebSocket in one object, with the parts of them that Socket.IO and extensions use. It begins with a WebSocket, or
 * with long polling and may upgrade.
 * Why: docs/internals/decisions/0005-handshake.md
 *
 * Events: `packet`, `packetCreate`, `data`, `message`, `heartbeat`, `drain`, `ready`, `upgrading`, `upgrade`, `close`,
 * as in Engine.IO.
 *
 * @typedef {import('./link.js').Link} Link
 * @typedef {import('./websocket-link.js').Packet} Packet
 *
 * @typedef {import('./websocket-link.js').SessionServer & {
 *   pendingUpgrades: import('./upgrades.js').Upgrades,
 *   addHeaders: (headers: Record<string, any>, req: any) => void
 * }} EngineOfSessions
 */

const BINARY = 0x82

/** @implements {Link} */
export class EngineSocket extends WebSocketLink {
  /** Set until the session is on WebSocket. @type {Polling | null} */
  polling = null
  /** Whether its WebSocket has negotiated compression. */
  deflates = false
  /**
   * The address of a client that began with polling: its WebSocket may come through another worker.
   * @type {string | undefined}
   */
  #address

  get #engine () { return /** @type {EngineOfSessions} */ (this.server) }
  get protocol () { return 4 }
  get upgrading () { return this.polling !== null && this.polling.upgrades }
  get upgraded () { return this.#address !== undefined && this.polling === null }
  get sid () { return this.id }
  get name () { return this.polling === null ? 'websocket' : 'polling' }
  get remoteAddress () { return this.#address ?? this.netSocket?.remoteAddress }
  /** Whether it takes the shared compressed frames. */
  get takesCompressed () { return this.deflates && this.polling === null }
  get writable () { return this.polling === null ? super.writable : this.polling.writable }
  get bufferedAmount () { return this.polling === null ? super.bufferedAmount : 0 }

  /**
   * Responds to the request and opens the session on WebSocket, in one write.
   * @param {string} opening Engine.IO's first packet
   * @param {string} [lines] more headers of the response
   */
  open (opening, lines) {
    const request = /** @type {import('./request.js').Upgrade} */ (this.request)
    this.writeNow(Buffer.concat([this.answer(protocolOf(request), request, lines), textFrame(`0${opening}`)]))
  }

  /**
   * Opens the session with the answer to its first poll.
   * @param {string} opening Engine.IO's first packet
   * @param {any} req @param {any} res
   */
  openPolling (opening, req, res) {
    this.#address = req.socket.remoteAddress
    this.polling = new Polling(this)
    this.writeBuffer = [{ type: 'open', data: opening }]
    this.polling.take(req, res)
  }

  /** @param {Record<string, any>} headers of a response @param {any} req */
  addHeaders (headers, req) { this.#engine.addHeaders(headers, req) }

  /** A poll is open: writes what is queued. */
  polled () {
    if (this.writeBuffer.length > 0 && this.readyState !== 'closed') {
      const waiting = this.writeBuffer
      // Another array with each handover: backlogs see by it that the client has read the one before.
      this.writeBuffer = []
      this.put(waiting)
    }
    this.emit('ready')
  }

  /** @override @param {Packet[]} packets */
  put (packets) {
    if (this.polling === null) return super.put(packets)
    this.polling.send(packets)
    for (const { callback } of packets) callback?.()
    this.emit('drain')
  }

  // The upgrade: a WebSocket beside the polls, which the client probes, and then changes to

  /**
   * Opens a WebSocket beside the polls.
   * @param {import('./request.js').Upgrade} request checked
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest bytes after the request
   * @param {string} [lines] more headers of the response
   */
  upgrade (request, netSocket, rest, lines) {
    /** @type {Polling} */ (this.polling).upgrades = true
    this.openSocket(netSocket)
    this.writeNow(this.answer(protocolOf(request), request, lines))
    this.#engine.pendingUpgrades.add(this)
    if (rest.length > 0) this.received(Buffer.from(rest))
  }

  /** @override @param {Buffer} frames */
  writeNow (frames) {
    // The write buffer is the polls' until the upgrade is complete.
    if (this.polling === null) super.writeNow(frames)
    else this.netSocket.write(frames)
  }

  /** A message of the WebSocket before the upgrade is complete. @param {string | Buffer} message */
  #probed (message) {
    if (!this.upgrading) return
    // as a frame of any other kind: it is no packet of the session, and a flood of them would cost as much
    this.server.onFrames(this, 1)
    if (!this.upgrading) return
    if (message === '2probe' && this.netSocket.writableLength === 0) {
      this.writeNow(textFrame('3probe'))
      this.#engine.pendingUpgrades.probed(this)
      this.emit('upgrading', this)
    } else if (message[0] === '5') this.#upgraded()
    else this.endUpgrade()
  }

  #upgraded () {
    const polling = /** @type {Polling} */ (this.polling)
    const { closes } = polling
    this.polling = null
    this.#engine.pendingUpgrades.delete(this)
    polling.stop(NOOP)
    this.flush()
    if (this.readyState === 'closed') return
    this.emit('upgrade', this)
    if (closes) this.close(true)
  }

  /**
   * Closes the WebSocket of an upgrade that is not completed; the session goes on with polling.
   * @param {number} [code] @param {string} [reason]
   */
  endUpgrade (code = CloseCode.NO_CODE, reason = '') {
    if (!this.upgrading) return
    /** @type {Polling} */ (this.polling).upgrades = false
    this.#engine.pendingUpgrades.delete(this)
    this.endWith(code, reason)
    this.closeSocket()
  }

  /** Ends the open poll, and nothing else. @returns {boolean} false: none is open */
  endPoll () { return this.polling !== null && this.polling.end(NOOP) }

  /** Its messages are not looked at: the session closes, or its upgrade has been given up. */
  get ignores () { return this.polling === null ? this.readyState !== 'open' : !this.upgrading }

  /** @override @param {string | Buffer} message */
  onMessage (message) {
    if (this.polling !== null) this.#probed(message)
    else this.onPacket(/** @type {any} */ (parser.decodePacket(message, 'nodebuffer')))
  }

  /** @override @param {Buffer} payload */
  onCloseFrame (payload) {
    if (this.polling === null) super.onCloseFrame(payload)
    else this.endUpgrade()
  }

  /** @override */
  ended () {
    if (this.polling === null) super.ended()
    else this.endUpgrade()
  }

  // Packets

  /** Handles a packet as the protocol of Engine.IO, version 4, says. @param {Packet} packet received */
  onPacket (packet) {
    if (this.readyState !== 'open') return
    this.emit('packet', packet)
    switch (packet.type) {
      case 'message':
        this.emit('data', packet.data)
        this.emit('message', packet.data)
        break
      case 'pong':
        this.emit('heartbeat')
        break
      case 'ping':
        this.onError(new Error('invalid heartbeat direction'))
        break
      case 'close':
        this.endWith(CloseCode.NO_CODE, '')
        this.onClose('transport close')
        break
      case 'error':
        if (this.polling === null) this.endWith(CloseCode.NO_CODE, '')
        this.onClose('parse error')
    }
  }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] */
  send (data, options, callback) { return this.write(data, options, callback) }

  /** @param {any} data @param {any} [options] @param {() => void} [callback] @returns {this} */
  write (data, options, callback) {
    this.sendPacket('message', data, options, callback)
    return this
  }

  /** @override @param {Packet} packet @returns {Buffer} */
  frameOf ({ type, data, options }) {
    const made = options?.wsPreEncodedFrame
    if (made !== undefined) return made.length === 1 ? made[0] : Buffer.concat(made)
    if (ArrayBuffer.isView(data)) return bytesFrame(BINARY, Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    if (data instanceof ArrayBuffer) return bytesFrame(BINARY, Buffer.from(data))
    return textFrame(`${TYPES[type]}${data ?? ''}`)
  }

  // The end

  /** @override @param {unknown} error */
  onError (error) {
    if (this.polling === null) super.onError(error)
    else if (error instanceof FrameError) this.endUpgrade(error.closeCode, error.message)
    else this.onClose('transport error', error)
  }

  /** @override @param {boolean} [discard] @param {number} [code] @param {string} [reason] */
  close (discard, code, reason) {
    const { polling } = this
    if (polling === null) return super.close(discard, code, reason)
    if (this.readyState === 'closed') return
    if (discard === true) {
      polling.end(CLOSE)
      return this.onClose('forced close')
    }
    if (this.readyState !== 'open') return
    this.closes()
    if (this.writeBuffer.length === 0) return polling.close()
    this.once('drain', () => {
      if (this.polling === null) super.close(true)
      else polling.close()
    })
  }

  /** @override @param {number} code @param {string} reason */
  closeWith (code, reason) {
    if (this.polling === null) super.closeWith(code, reason)
    else this.close(true)
  }

  /** @override @param {string} reason @param {unknown} [description] */
  onClose (reason, description) {
    const { polling } = this
    if (polling !== null && this.readyState !== 'closed') {
      this.endUpgrade()
      polling.stop(CLOSE)
    }
    super.onClose(reason, description)
  }

  // Link (link.js)

  /** @override @param {boolean} light */
  begin (light) {
    if (light && this.polling !== null) Object.assign(this, { request: lightRequest(this.request) })
  }

  /** @override */
  admit () { this.polling?.admit() }

  /** @override @param {Buffer} frames @returns {boolean} */
  writeFrames (frames) { return this.polling === null && super.writeFrames(frames) }

  /** @override */
  unsentBytes () { return this.polling === null ? super.unsentBytes() : 0 }

  sendPing () { if (!this.writeFrames(PING)) this.sendPacket('ping', undefined, PING_OPTIONS) }

  /** @override @param {string} [reason] */
  terminate (reason = 'transport close') {
    if (this.polling === null) super.terminate(reason)
    else this.onClose(reason)
  }
}

/**
 * @param {import('./request.js').Upgrade} request
 * @returns {string | undefined} the first protocol offered, as in ws
 */
const protocolOf = ({ headers }) => headers['sec-websocket-protocol']?.split(',')[0].trim()
