import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import tls from 'node:tls'
import { waitFor } from './wait.js'

/**
 * Connections to a known worker, taken from the session id of a handshake on them. Requests for sessions of other
 * workers on these connections are misrouted.
 */

const PATH = '/socket.io/?EIO=4'

/** @param {string} sid @returns {string} */
export const workerOf = (sid) => sid.slice(0, 2)

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} text
 */

/**
 * One kept-alive connection for consecutive requests.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 */
export async function keptAlive (t, url) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  /** @type {Set<unknown>} */
  const sockets = new Set()

  /**
   * @param {string} method
   * @param {string} query
   * @param {{ pieces?: (string | Buffer)[], headers?: Record<string, string | number> }} [options] pieces of the body,
   *   each sent before the next
   * @returns {Promise<Answer>}
   */
  async function request (method, query, { pieces = [], headers = {} } = {}) {
    const req = http.request(url + PATH + query, { method, agent, headers })
    req.on('socket', (socket) => sockets.add(socket))
    const answered = once(req, 'response')
    answered.catch(() => {})
    for (const piece of pieces) {
      await new Promise((resolve) => req.write(piece, resolve))
      await new Promise(setImmediate)
    }
    req.end()
    const [res] = await answered
    let text = ''
    for await (const chunk of res.setEncoding('utf8')) text += chunk
    return { status: res.statusCode, text }
  }

  /** @returns {Promise<string>} a new session of the worker at the other end of this connection */
  const handshake = async () => JSON.parse((await request('GET', '&transport=polling')).text.slice(1)).sid
  const sid = await handshake()
  return {
    worker: workerOf(sid),
    request,
    handshake,
    /** Number of TCP connections used; with more than one, requests may have reached several workers. */
    get connections () { return sockets.size },
    /** @param {string} sid */
    poll: (sid) => request('GET', `&transport=polling&sid=${sid}`),
    /** @param {string} sid @param {(string | Buffer)[]} pieces @param {Record<string, string | number>} [headers] */
    post: (sid, pieces, headers) => request('POST', `&transport=polling&sid=${sid}`, { pieces, headers })
  }
}

/**
 * Kept-alive connections to `count` workers, one each.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {number} count
 */
export async function oneToEach (t, url, count) {
  /** @type {Map<string, Awaited<ReturnType<typeof keptAlive>>>} */
  const found = new Map()
  for (let tries = 0; found.size < count; tries++) {
    if (tries === 200) throw new Error(`200 connections reached only ${found.size} of ${count} workers`)
    const connection = await keptAlive(t, url)
    if (!found.has(connection.worker)) found.set(connection.worker, connection)
  }
  return [...found.values()]
}

/**
 * A connection for an upgrade, to a worker that meets a condition.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {(worker: string) => boolean} wanted
 */
export async function rawConnection (t, url, wanted) {
  const { hostname, port, protocol } = new URL(url)
  for (let tries = 0; tries < 200; tries++) {
    const socket =
      protocol === 'https:'
        ? tls.connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
        : net.connect(Number(port), hostname)
    t.after(() => { socket.destroy() })
    let received = Buffer.alloc(0)
    let closed = false
    socket.on('data', (chunk) => { received = Buffer.concat([received, chunk]) }).on('error', () => {})
      .on('close', () => { closed = true })
    socket.write(`GET ${PATH}&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const sid = /** @type {string} */ (
      await waitFor(() => /"sid":"([\w-]{20})"/.exec(received.toString('latin1'))?.[1], { message: 'a handshake' })
    )
    if (!wanted(workerOf(sid))) {
      socket.destroy()
      continue
    }
    received = Buffer.alloc(0)
    return {
      worker: workerOf(sid),
      /** @param {string | Buffer} bytes */
      write: (bytes) => { socket.write(bytes) },
      /**
       * @param {(text: string) => unknown} condition
       * @param {string} message
       * @param {number} [timeout] ms
       * @returns {Promise<string>} everything received
       */
      async until (condition, message, timeout) {
        await waitFor(() => condition(received.toString('latin1')), {
          timeout,
          message: () => `${message} in ${JSON.stringify(received.toString('latin1').slice(0, 300))}`
        })
        return received.toString('latin1')
      },
      /** @returns {Promise<string>} everything received until the connection closed */
      async end () {
        await waitFor(() => closed, {
          message: () => `the end, after ${JSON.stringify(received.toString('latin1').slice(0, 300))}`
        })
        return received.toString('latin1')
      }
    }
  }
  throw new Error('200 connections reached no worker that meets the condition')
}

/** @param {string} sid @returns {string} the head of an upgrade request */
export const upgradeRequest = (sid) => [
  `GET ${PATH}&transport=websocket&sid=${sid} HTTP/1.1`, 'Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13', '', ''
].join('\r\n')

/** @param {string} text up to 65,535 bytes @returns {Buffer} a client's frame, with an all-zero mask */
export function textFrame (text) {
  const data = Buffer.from(text)
  const size =
    data.length < 126
      ? Buffer.from([0x80 | data.length])
      : Buffer.from([0x80 | 126, data.length >> 8, data.length & 255])
  return Buffer.concat([Buffer.from([0x81]), size, Buffer.alloc(4), data])
}
