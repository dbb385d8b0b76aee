/**
 * The request that begins a WebSocket, read from the first bytes of a connection. It reads what browsers and the usual
 * clients send and nothing else: whatever is out of the ordinary is left to Node's HTTP parser, which knows it or refuses it.
 *
 * @typedef {object} Upgrade what Engine.IO's users read of a request; Node's IncomingMessage is one as well
 * @property {string} method
 * @property {string} url
 * @property {import('http').IncomingHttpHeaders} headers by lower-case name
 * @property {Record<string, string>} _query
 */

/** More than browsers send, and less than Node's parser takes; bytes. */
const MAX_HEAD = 8192
const END = Buffer.from('\r\n\r\n')
/** RFC 9110, 5.1 and 5.5; without the bytes above 0x7e, of which nobody knows what they mean. */
const FIELD = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e]*)$/
const TARGET = /^[\x21-\x7e]+$/
/** With them the request has a body, or wants to be asked for it. */
const OF_BODIES = ['content-length', 'transfer-encoding', 'expect']
/** 16 random bytes (RFC 6455, 4.1), as ws reads them. */
const KEY = /^[+/0-9A-Za-z]{22}==$/

/** A request without a body, in the place of Node's IncomingMessage; as long as the client is not admitted. */
class UpgradeRequest {
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

/**
 * @param {Buffer} bytes the first ones of a connection
 * @param {import('net').Socket} socket
 * @returns {{ request: UpgradeRequest, rest: Buffer } | null} null: it is for Node's HTTP parser. `rest` came after the request
 */
export function readUpgrade (bytes, socket) {
  const end = bytes.indexOf(END)
  if (end === -1 || end > MAX_HEAD) return null
  const [line, ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
  if (!line.startsWith('GET ') || !line.endsWith(' HTTP/1.1')) return null
  const url = line.slice(4, -9)
  if (!TARGET.test(url)) return null
  /** @type {Record<string, string>} */
  const headers = {}
  for (const field of fields) {
    const match = FIELD.exec(field)
    if (match === null) return null
    const name = match[1].toLowerCase()
    // what two of a kind mean depends on the kind
    if (name in headers) return null
    headers[name] = match[2].trim()
  }
  if (headers.upgrade === undefined || OF_BODIES.some((name) => name in headers)) return null
  return { request: new UpgradeRequest(url, headers, socket), rest: bytes.subarray(end + END.length) }
}

/**
 * @param {Upgrade} request
 * @returns {boolean} whether it asks for a session that begins with a WebSocket, in the one way that is not refused
 */
export function beginsWebSocket ({ method, headers, _query }) {
  return _query.EIO === '4' && _query.transport === 'websocket' && _query.sid === undefined && method === 'GET' &&
    headers['sec-websocket-version'] === '13' && KEY.test(headers['sec-websocket-key'] ?? '') && headers.host !== undefined &&
    headers.upgrade?.toLowerCase() === 'websocket' && headers.connection !== undefined && /\bupgrade\b/i.test(headers.connection)
}

/**
 * @param {string} url
 * @returns {Record<string, string>} as Engine.IO reads it, of several with one name the last
 */
export function queryOf (url) {
  const at = url.indexOf('?')
  if (at === -1) return {}
  const text = url.slice(at + 1)
  if (/[%+?]/.test(text)) return Object.fromEntries(new URLSearchParams(text))
  /** @type {Record<string, string>} */
  const query = {}
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = equals === -1 ? pair : pair.slice(0, equals)
    // it would be the prototype
    if (name === '__proto__') return Object.fromEntries(new URLSearchParams(text))
    query[name] = equals === -1 ? '' : pair.slice(equals + 1)
  }
  return query
}
