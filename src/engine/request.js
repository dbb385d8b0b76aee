/**
 * The request that begins a WebSocket, read from the first bytes of a connection. It reads what browsers and the usual
 * clients send and nothing else: whatever is out of the ordinary is left to Node's HTTP parser, which knows it or
 * refuses it.
 *
 * @typedef {object} Upgrade what Engine.IO's users read of a request; Node's IncomingMessage is one as well
 * @property {string} method
 * @property {string} url
 * @property {import('http').IncomingHttpHeaders} headers by lower-case name
 * @property {Record<string, string>} _query
 */

/** Method by which a worker that drains asks a session's owner to release it; clients never send it. */
export const RELEASE = 'NOTIFY'
/** More than browsers send, and less than Node's parser takes; bytes. */
const MAX_HEAD = 8192
const END = Buffer.from('\r\n\r\n')
/** Tabs, line ends and printable ASCII: nobody knows what the bytes above 0x7e mean (RFC 9110, 5.5). */
const PRINTABLE = /^[\t\r\n\x20-\x7e]*$/
/** A line end of another kind. */
const NOT_IN_LINE = /[\r\n]/
const NOT_IN_URL = /\s/
/** One of the options that a Connection header lists (RFC 9110, 7.6.1); `x-upgrade` is another one. */
const UPGRADE = /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i
/** RFC 9110, 5.1 */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** Names as they were sent, and in lower case; there are few of them. @type {Map<string, string>} */
const names = new Map()
const MAX_NAMES = 256
/** With them the request has a body, or wants to be asked for it. */
const OF_BODIES = ['content-length', 'transfer-encoding', 'expect']
/** 16 random bytes (RFC 6455, 4.1), as ws reads them. */
const KEY = /^[+/0-9A-Za-z]{22}==$/

/** What a line of a head takes besides its name and value. */
const LINE = 4

/** A request without a body, in the place of Node's IncomingMessage; as long as the client is not admitted. */
class LightRequest {
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

/** @param {any} req Node's @returns {LightRequest} what is needed of it */
export const lightRequest = ({ url, headers, socket }) => new LightRequest(url, headers, socket)

/** @param {any} request @returns {number} about how many bytes its head has */
export function headSize ({ url, headers }) {
  let size = url.length
  for (const name in headers) size += name.length + headers[name].length + LINE
  return size
}

/**
 * @param {Buffer} bytes the first ones of a connection
 * @param {import('net').Socket} socket
 * @returns {{ request: LightRequest, rest: Buffer } | null} null: it is for Node's HTTP parser. `rest` came after the
 *   request
 */
export function readUpgrade (bytes, socket) {
  const end = bytes.indexOf(END)
  if (end === -1 || end > MAX_HEAD) return null
  const head = bytes.toString('latin1', 0, end)
  if (!PRINTABLE.test(head)) return null
  const [line, ...fields] = head.split('\r\n')
  if (!line.startsWith('GET ') || !line.endsWith(' HTTP/1.1')) return null
  const url = line.slice(4, -9)
  if (url === '' || NOT_IN_URL.test(url)) return null
  /** @type {Record<string, string>} */
  const headers = {}
  for (const field of fields) {
    const colon = field.indexOf(':')
    if (colon === -1 || NOT_IN_LINE.test(field)) return null
    const name = lowerCase(field.slice(0, colon))
    // what two of a kind mean depends on the kind
    if (name === null || name in headers) return null
    headers[name] = field.slice(colon + 1).trim()
  }
  if (headers.upgrade === undefined || OF_BODIES.some((name) => name in headers)) return null
  return { request: new LightRequest(url, headers, socket), rest: bytes.subarray(end + END.length) }
}

/** @param {string} name of a header @returns {string | null} null: there is no such name */
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
 * @returns {boolean} whether it asks for a session that begins with a WebSocket, in the one way that is not refused
 */
export function beginsWebSocket ({ method, headers, _query }) {
  return (
    _query.EIO === '4' &&
    _query.transport === 'websocket' &&
    _query.sid === undefined &&
    method === 'GET' &&
    headers['sec-websocket-version'] === '13' &&
    KEY.test(headers['sec-websocket-key'] ?? '') &&
    headers.host !== undefined &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers.connection !== undefined &&
    UPGRADE.test(headers.connection)
  )
}

/** Nearly all clients ask for the same. @type {{ url: string, query: Record<string, string> }} */
let last = { url: '', query: {} }

/**
 * @param {string} url
 * @returns {Record<string, string>} as Engine.IO reads it, of several with one name the last. An empty `sid`, which
 *   begins a session as none does, is left out: nobody has to ask for both
 */
export function queryOf (url) {
  if (url !== last.url) {
    const at = url.indexOf('?')
    const query = at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
    if (query.sid === '') delete query.sid
    last = { url, query }
  }
  return { ...last.query }
}
