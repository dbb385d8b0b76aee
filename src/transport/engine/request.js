/**
 * A request of a client, parsed from the bytes of its connection: the handshake of a WebSocket, a poll, or a POST with
 * its body. It parses only the form that browsers and usual clients send; Node's HTTP parser handles every other
 * request, or refuses it.
 *
 * @typedef {object} Upgrade the part of a request that users of Engine.IO read; Node's IncomingMessage has it too
 * @property {string} method
 * @property {string} url
 * @property {import('http').IncomingHttpHeaders} headers by lower-case name
 * @property {Record<string, string>} _query
 */

/** Method by which a worker that drains asks a session's owner to release it; clients never send it. */
export const RELEASE = 'NOTIFY'
/** Larger than the heads of browsers, smaller than the limit of Node's parser, bytes. */
const MAX_HEAD = 8192
const END = Buffer.from('\r\n\r\n')
/** Tabs, line ends and printable ASCII: bytes above 0x7e have no defined meaning (RFC 9110, 5.5). */
const PRINTABLE = /^[\t\r\n\x20-\x7e]*$/
/** A bare line end. */
const NOT_IN_LINE = /[\r\n]/
const NOT_IN_URL = /\s/
/** Option of a Connection header (a list, RFC 9110, 7.6.1); `x-upgrade` is another option. */
const UPGRADE = /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i
/** RFC 9110, 5.1 */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** Names in lower case, by name as it was sent; there are few of them. @type {Map<string, string>} */
const names = new Map()
const MAX_NAMES = 256
/** Headers of a request that has a body, or expects to be asked for it. */
const OF_BODIES = ['content-length', 'transfer-encoding', 'expect']
/** A sign, a list or a space is left to Node (RFC 9112, 6.3). */
const LENGTH = /^\d{1,7}$/
const KEEP = /^keep-alive$/i
const CLOSE = /^close$/i
/** 16 random bytes (RFC 6455, 4.1), as ws reads them. */
const KEY = /^[+/0-9A-Za-z]{22}==$/

/** Bytes of a header line besides name and value. */
const LINE = 4

/** A request without a body, instead of Node's IncomingMessage; dropped when the client is admitted. */
class LightRequest {
  /** @type {string} */
  method = 'GET'
  httpVersion = '1.1'
  complete = true
  /** @type {Record<string, string>} */
  _query

  /**
   * @param {string} url
   * @param {Record<string, string>} headers
   * @param {import('net').Socket} socket
   */
  constructor (url, headers, socket) {
    this.url = url
    this.headers = headers
    this.socket = socket
    this._query = queryOf(url)
  }

  get connection () { return this.socket }
  get rawHeaders () { return Object.entries(this.headers).flat() }
}

/** A request with an answer of its own (answer.js), with which it closes. */
export class UsualRequest extends LightRequest {
  /** Of a POST. @type {Buffer | undefined} */
  body
  /** Engine.IO takes it from here. @type {any} */
  res = null
  #keeps
  /** @type {((...args: any[]) => void)[]} */
  #listeners = []

  /**
   * @param {Head} head
   * @param {import('net').Socket} socket
   * @param {Buffer | undefined} body
   */
  constructor ({ method, url, headers }, socket, body) {
    super(url, headers, socket)
    this.method = method
    this.body = body
    this.#keeps = headers.connection === undefined || KEEP.test(headers.connection)
  }

  /** Whether its client keeps the connection. */
  get keepsConnection () { return this.#keeps }

  /** @param {string} _ its only event, `close` @param {(...args: any[]) => void} listener */
  on (_, listener) {
    this.#listeners.push(listener)
    return this
  }

  /** It closes once. @param {string} event @param {(...args: any[]) => void} listener */
  once (event, listener) { return this.on(event, listener) }

  /** @param {string} _ @param {(...args: any[]) => void} listener */
  off (_, listener) {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
    return this
  }

  /** @param {string} event @param {(...args: any[]) => void} listener */
  removeListener (event, listener) { return this.off(event, listener) }

  /** Its answer is closed. */
  close () { for (const listener of this.#listeners.splice(0)) listener.call(this) }
}

/** @param {any} req Node's @returns {LightRequest} the needed part of it */
export const lightRequest = ({ url, headers, socket }) => new LightRequest(url, headers, socket)

/** @param {any} request @returns {number} approximate size of its head, bytes */
export function headSize ({ url, headers }) {
  let size = url.length
  for (const name in headers) size += name.length + headers[name].length + LINE
  return size
}

/**
 * @typedef {object} Head
 * @property {'GET' | 'POST'} method
 * @property {string} url
 * @property {Record<string, string>} headers by lower-case name
 * @property {number} end of the head in the bytes
 *
 * @param {Buffer} bytes
 * @returns {Head | null} null: Node's HTTP parser handles it
 */
function readHead (bytes) {
  const end = bytes.indexOf(END)
  if (end === -1 || end > MAX_HEAD) return null
  const head = bytes.toString('latin1', 0, end)
  if (!PRINTABLE.test(head)) return null
  const [line, ...fields] = head.split('\r\n')
  const method = line.startsWith('GET ') ? 'GET' : line.startsWith('POST ') ? 'POST' : null
  if (method === null || !line.endsWith(' HTTP/1.1')) return null
  const url = line.slice(method.length + 1, -9)
  if (url === '' || NOT_IN_URL.test(url)) return null
  /** @type {Record<string, string>} */
  const headers = {}
  for (const field of fields) {
    const colon = field.indexOf(':')
    if (colon === -1 || NOT_IN_LINE.test(field)) return null
    const name = lowerCase(field.slice(0, colon))
    // The meaning of a repeated header depends on the header.
    if (name === null || name in headers) return null
    headers[name] = field.slice(colon + 1).trim()
  }
  return { method, url, headers, end: end + END.length }
}

/**
 * @param {Buffer} bytes first bytes of a connection, or of its next request
 * @param {import('net').Socket} socket
 * @returns {{ request: LightRequest, rest: Buffer } | { request: UsualRequest } | null} null: Node's HTTP parser
 *   handles it. `rest` follows a request to upgrade; nothing follows any other one
 */
export function readRequest (bytes, socket) {
  const head = readHead(bytes)
  if (head === null) return null
  const { method, url, headers, end } = head
  if (headers.upgrade === undefined) return readUsual(head, bytes, socket)
  if (method !== 'GET' || OF_BODIES.some((name) => name in headers)) return null
  return { request: new LightRequest(url, headers, socket), rest: bytes.subarray(end) }
}

/**
 * A request whose body has any other framing than one Content-Length, or comes in several pieces, is Node's.
 * @param {Head} head
 * @param {Buffer} bytes
 * @param {import('net').Socket} socket
 */
function readUsual (head, bytes, socket) {
  const { method, headers, end } = head
  const { 'content-length': length, connection } = headers
  if (headers.host === undefined || headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return null
  if (connection !== undefined && !KEEP.test(connection) && !CLOSE.test(connection)) return null
  if (method === 'GET')
    return length === undefined && end === bytes.length ? { request: new UsualRequest(head, socket, undefined) } : null
  if (length === undefined || !LENGTH.test(length) || end + Number(length) !== bytes.length) return null
  return { request: new UsualRequest(head, socket, bytes.subarray(end)) }
}

/** @param {string} name of a header @returns {string | null} null: not a valid name */
function lowerCase (name) {
  const known = names.get(name)
  if (known !== undefined) return known
  if (!NAME.test(name)) return null
  const lower = name.toLowerCase()
  if (names.size < MAX_NAMES) names.set(name, lower)
  return lower
}

/**
 * @param {Upgrade} request
 * @returns {boolean} whether it is a valid request for a new session on WebSocket
 */
export function beginsWebSocket (request) {
  const { EIO, transport, sid } = request._query
  return EIO === '4' && transport === 'websocket' && sid === undefined && hasKey(request) && asksForWebSocket(request)
}

/** @param {Upgrade} request @returns {boolean} whether it has what the answer is made from (RFC 6455, 4.2.1) */
export const hasKey = ({ headers }) =>
  headers['sec-websocket-version'] === '13' && KEY.test(headers['sec-websocket-key'] ?? '')

/** @param {Upgrade} request @returns {boolean} whether it asks for a WebSocket in the usual form */
export function asksForWebSocket ({ method, headers }) {
  return (
    method === 'GET' &&
    headers.host !== undefined &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers.connection !== undefined &&
    UPGRADE.test(headers.connection)
  )
}

/**
 * @param {Upgrade} request without a body
 * @returns {boolean} whether it asks to upgrade a session to WebSocket
 */
export const upgradesSession = (request) => request._query.sid !== undefined && asksForWebSocket(request)

/** The last URL: nearly all clients request the same one. @type {{ url: string, query: Record<string, string> }} */
let last = { url: '', query: {} }

/**
 * @param {string} url
 * @returns {Record<string, string>} as Engine.IO parses it; the last of several values with one name. An empty `sid`
 *   means the same as none and is left out
 */
export function queryOf (url) {
  if (url !== last.url) {
    const at = url.indexOf('?')
    const query = at === -1 ? {} : parsed(url.slice(at + 1))
    if (query.sid === '') delete query.sid
    last = { url, query }
  }
  return { ...last.query }
}

/** A query without encoded characters, as of nearly all clients. */
const PLAIN = /^[\w=&.-]*$/

/** @param {string} text @returns {Record<string, string>} */
function parsed (text) {
  if (!PLAIN.test(text) || text.includes('__')) return Object.fromEntries(new URLSearchParams(text))
  /** @type {Record<string, string>} */
  const query = {}
  for (const part of text.split('&')) {
    const at = part.indexOf('=')
    if (at !== -1) query[part.slice(0, at)] = part.slice(at + 1)
    else if (part !== '') query[part] = ''
  }
  return query
}
