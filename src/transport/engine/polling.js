import { createRequire } from 'node:module'
import { gzip } from 'node:zlib'
import { readBody } from './poll-body.js'

const require = createRequire(import.meta.url)
const { parser } = require('engine.io')

/**
 * The part of a session while its client polls: the open poll, a body that arrives in pieces, and the WebSocket to
 * which it upgrades. An upgraded session has none of it.
 *
 * @typedef {import('./websocket-link.js').Packet} Packet
 * @typedef {import('node:http').IncomingMessage | import('./request.js').UsualRequest} Request
 * @typedef {import('node:http').ServerResponse | import('./answer.js').Answer} Response
 *
 * @typedef {object} PollingSession EngineSocket
 * @property {() => void} polled a poll is open
 * @property {(packet: Packet) => void} onPacket received
 * @property {(error: Error) => void} onError
 * @property {(reason: string) => void} onClose
 * @property {(headers: Record<string, any>, req: any) => void} addHeaders of extensions, to a response
 * @property {{ clock: Pick<import('../../base/common/clock.js').Clock, 'timer'> }} server
 */

/** Engine.IO's packet types, and the characters that encode them. @type {Record<string, string>} */
export const TYPES = { open: '0', close: '1', ping: '2', pong: '3', message: '4', upgrade: '5', noop: '6' }
/** Packets that answer a poll by themselves. */
export const { close: CLOSE, noop: NOOP } = TYPES
/** Between the packets of a payload. */
const SEPARATOR = '\x1e'
/**
 * Timeout for one more poll before a session ends, ms: of admitted clients, and of others, which have nothing to
 * receive.
 */
const [CLOSE_TIMEOUT, EARLY_CLOSE_TIMEOUT] = [30_000, 1000]
/** Smallest answer that is compressed for a client that accepts it, bytes; the same as in Engine.IO. */
const GZIP_FROM = 1024
const ACCEPTS_GZIP = /(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|,|$)/i
/** Engine.IO warns users of old browsers. */
const OLD_BROWSER = 'Trident/'

export class Polling {
  /** Its answer. @type {Response | null} */
  #poll = null
  /** The answer is being compressed. */
  #compresses = false
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #closing
  #session
  closeTimeout = EARLY_CLOSE_TIMEOUT
  /** A body that arrives in pieces, and its answer. @type {any} */
  dataReq = null
  /** @type {any} */
  dataRes = null
  /** Whether a WebSocket is open beside the polls. */
  upgrades = false

  /** @param {PollingSession} session */
  constructor (session) { this.#session = session }

  /** Whether a poll is open. */
  get writable () { return this.#poll !== null && !this.#compresses }

  /** The client is admitted. */
  admit () { this.closeTimeout = CLOSE_TIMEOUT }

  /** @param {Request} req GET or POST, checked @param {Response} res */
  take (req, res) {
    if (req.method === 'GET') this.#takePoll(res)
    else readBody(this.#session, this, req, res)
  }

  /** @param {Response} res */
  #takePoll (res) {
    if (this.#poll !== null) {
      this.onError('overlap from client')
      res.writeHead(400).end()
      return
    }
    this.#poll = res
    res.once('close', this.#lost)
    this.#session.polled()
    if (this.#closing !== undefined && this.writable) this.end(CLOSE)
  }

  /** The client has closed the connection of the open poll. */
  #lost = () => {
    this.#poll = null
    this.onError('poll connection closed prematurely')
  }

  /** @param {string} message */
  onError (message) { this.#session.onError(Object.assign(new Error(message), { type: 'TransportError' })) }

  /** @param {string} text of a POST */
  onData (text) {
    for (const packet of parser.decodePayload(text)) {
      if (packet.type !== 'close') this.#session.onPacket(/** @type {Packet} */ (packet))
      else {
        this.end(NOOP)
        this.#session.onClose('transport close')
      }
    }
  }

  /** Answers the open poll. @param {Packet[]} packets */
  send (packets) {
    const text = packets.map(textOf).join(SEPARATOR) + (this.#closing === undefined ? '' : SEPARATOR + CLOSE)
    const res = /** @type {Response} */ (this.#poll)
    if (text.length < GZIP_FROM || !ACCEPTS_GZIP.test(String(res.req.headers['accept-encoding'] ?? '')) ||
      packets.every(({ options }) => options?.compress === false)) this.#answer(text)
    else {
      this.#compresses = true
      gzip(text, (error, zipped) => {
        this.#compresses = false
        // the client may have gone meanwhile
        if (this.#poll !== res) return
        if (error === null) this.#answer(zipped, { 'Content-Encoding': 'gzip' })
        else this.#answer(text)
      })
    }
    if (this.#closing !== undefined) this.#session.onClose('forced close')
  }

  /** @param {string | Buffer} body @param {Record<string, string>} [headers] */
  #answer (body, headers = {}) {
    const res = /** @type {Response} */ (this.#poll)
    this.#poll = null
    res.off('close', this.#lost)
    res.writeHead(200, this.headers(res.req, {
      'Content-Type': 'text/plain; charset=UTF-8', ...headers, 'Content-Length': Buffer.byteLength(body)
    })).end(body)
  }

  /**
   * @param {Request} req
   * @param {Record<string, string | number>} headers
   * @returns {Record<string, string | number>} with those of extensions
   */
  headers (req, headers) {
    if (req.headers['user-agent']?.includes(OLD_BROWSER)) headers['X-XSS-Protection'] = '0'
    headers['cache-control'] = 'no-store'
    this.#session.addHeaders(headers, req)
    return headers
  }

  /**
   * Ends the open poll.
   * @param {string} packet CLOSE or NOOP
   * @returns {boolean} false: there is none
   */
  end (packet) {
    if (!this.writable) return false
    this.#answer(packet)
    if (this.#closing !== undefined) this.#session.onClose('forced close')
    return true
  }

  /** Closes the session at once if a poll is open, else with the next one. */
  close () {
    if (this.end(CLOSE)) return this.#session.onClose('forced close')
    this.#closing ??= this.#session.server.clock.timer(this.closeTimeout, () => this.#session.onClose('forced close')).unref()
  }

  /** Whether the session ends with the next poll. */
  get closes () { return this.#closing !== undefined }

  /**
   * The session has ended, or has upgraded.
   * @param {string} packet for an open poll
   */
  stop (packet) {
    this.#closing?.stop()
    this.#closing = undefined
    this.end(packet)
    this.dataReq?.destroy()
  }
}

/** @param {Packet} packet @returns {string} */
function textOf ({ type, data }) {
  if (ArrayBuffer.isView(data))
    return `b${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`
  if (data instanceof ArrayBuffer) return `b${Buffer.from(data).toString('base64')}`
  return `${TYPES[type]}${data ?? ''}`
}
