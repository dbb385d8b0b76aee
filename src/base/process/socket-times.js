import { STATUS_CODES } from 'node:http'

/**
 * Timeouts of the sockets of a listener. Every HTTP listener of inkcast uses them (gateway, api, admin, private and
 * peer listeners), because Node leaves both sides of an HTTP connection to their owner (`allowHalfOpen`): a socket that
 * is only ended stays open until its peer ends it as well, which an attacker never does.
 *
 * @typedef {Readonly<Record<'handshake' | 'headers' | 'request' | 'keepAlive' | 'silence' | 'linger' | 'check',
 *   number>>} Times
 */

/** ms @type {Times} */
export const TIMES = Object.freeze({
  /** for the TLS handshake */
  handshake: 10_000,
  /** for the headers of a request; from the start of the connection, or the end of the previous request */
  headers: 10_000,
  /** for a whole request */
  request: 30_000,
  /** between two requests: longer than load balancers keep a connection, so that they close it first */
  keepAlive: 65_000,
  /** without a byte in either direction during a request: the client does not read, or the answer does not come */
  silence: 45_000,
  /** for a refused client to read the reason and close */
  linger: 5000,
  /** interval of Node's check for late requests */
  check: 5000
})

/** Time added to the longest poll before a connection counts as silent, ms. */
const SLACK = 10_000

/**
 * For listeners that answer long polls.
 * @param {{ max: number, timeout: number }} heartbeat config.heartbeat.network
 * @returns {Times}
 */
export const timesWithPolls = ({ max, timeout }) => ({
  ...TIMES,
  silence: Math.max(TIMES.silence, max + timeout + SLACK)
})

/**
 * Options of Node's http and https servers. Their listeners check the header Host (src/base/process/listener-guard.js).
 * @param {Times} times
 */
export const serverOptions = ({ handshake, headers, request, keepAlive, check }) => ({
  handshakeTimeout: handshake,
  headersTimeout: Math.min(headers, request),
  requestTimeout: request,
  keepAliveTimeout: keepAlive,
  connectionsCheckingInterval: check,
  requireHostHeader: false
})

/**
 * Closes connections that Node reports as invalid HTTP or late, and silent ones.
 *
 * @param {import('http').Server} server
 * @param {Times} times
 * @param {import('../common/wait.js').Timers} clock
 */
export function endSockets (server, { silence, linger }, clock) {
  server.timeout = silence
  server.on('clientError', (error, socket) => {
    if (canAnswer(error, socket)) endSocket(socket, responseOf(400), clock, linger)
    else socket.destroy()
  })
}

/**
 * Browsers open connections ahead, and may send their request at the moment of the timeout: they repeat it if the
 * connection is closed without an answer, and take an answer for that of their request.
 * @param {Error & { code?: string }} error of Node's event `clientError`
 * @param {import('stream').Duplex} socket
 * @returns {boolean} false: nothing was asked, the connection has ended, or the answer would be written into another
 *   response
 */
export function canAnswer (error, socket) {
  const { secureConnecting, bytesRead, _httpMessage } =
    /** @type {{ secureConnecting?: boolean, bytesRead?: number, _httpMessage?: { headersSent: boolean } }} */ (
      /** @type {unknown} */ (socket)
    )
  // before the TLS handshake nothing can be written, and `end` would wait for it
  return socket.writable && !secureConnecting && bytesRead !== 0 && error.code !== 'ECONNRESET' &&
    !_httpMessage?.headersSent
}

/**
 * Writes the last bytes to a socket without another user, discards input, and destroys the socket if its peer does not
 * close in time.
 *
 * @param {import('stream').Duplex} socket
 * @param {string} bytes
 * @param {import('../common/wait.js').Timers} clock
 * @param {number} [linger] ms
 */
export function endSocket (socket, bytes, clock, linger = TIMES.linger) {
  // Node removes its own listener from an upgrade; without one, a reset by the client would end the process
  socket.on('error', () => socket.destroy())
  destroyAfter(socket, linger, clock)
  socket.end(bytes)
  // only reading detects the peer's close
  socket.resume()
}

/**
 * @param {import('stream').Duplex} socket
 * @param {number} time ms, regardless of activity
 * @param {import('../common/wait.js').Timers} clock
 */
export function destroyAfter (socket, time, clock) {
  if (socket.destroyed) return
  const timer = clock.timer(time, () => socket.destroy()).unref()
  socket.once('close', () => timer.stop())
}

/**
 * A complete response, the last one of its connection.
 * @param {number} status
 * @param {string} [body] JSON
 * @param {Record<string, string | number>} [headers]
 * @returns {string}
 */
export function responseOf (status, body = '', headers = {}) {
  const all = {
    ...headers,
    Connection: 'close',
    ...body === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' },
    'Content-Length': Buffer.byteLength(body)
  }
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`
}
