/**
 * A WebSocket for processes with very many clients.
 */
import { BINARY, CLOSE, frameOf, PING, PONG, readFrames, TEXT } from './frames.js'
import { openSocket } from './socket.js'

/**
 * @typedef {object} Target
 * @property {string} host
 * @property {number} port
 * @property {boolean} secure TLS
 * @property {string} [path] SOCKET_PATH; default: `/socket.io/`
 * @property {string} [query] default: that of Engine.IO
 * @property {boolean} insecure accept any certificate
 * @property {{ interval: number, timeout: number }} [heartbeat] longest times between two pings, and until the answer,
 *   ms; for protocols in which the server does not say so
 * @property {string} [headers] more of the upgrade, each with its end of line
 *
 * @typedef {object} Listeners
 * @property {() => void} [onConnect] the WebSocket is open
 * @property {(content: Buffer, binary: boolean) => void} onMessage content of an Engine.IO packet, with its type if it
 *   is text; valid during the call only
 * @property {(reason: string) => void} onEnd called once, not after `close`
 * @property {() => boolean} [answers] whether a ping of the WebSocket protocol is answered; default: always
 *
 * @typedef {{ send: (content: string | Buffer) => void, close: () => void }} Transport
 */

const EMPTY = Buffer.alloc(0)
/** Time that a server has to close its side as well, ms. */
const LINGER = 5000
// Both are in RFC 6455, section 1.3
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='

/**
 * @param {Target} target
 * @param {string | undefined} source local address
 * @param {Listeners} listeners
 * @returns {Transport}
 */
export function openWebSocket (
  { host, port, secure, insecure, path = '/socket.io/', query = '?EIO=4&transport=websocket', headers = '' }, source,
  { onConnect, onMessage, onEnd, answers = () => true }
) {
  let rest = EMPTY
  let upgraded = false
  let closed = false
  const socket = openSocket({ host, port, secure, insecure }, source, {
    onConnect: () => socket.write(upgradeRequest(host, port, path + query, headers)),
    onData,
    onEnd: end
  })

  /** @param {string} reason */
  function end (reason) {
    if (closed) return
    closed = true
    socket.destroy()
    onEnd(reason)
  }

  /** @param {number} opcode @param {Buffer} payload */
  function onFrame (opcode, payload) {
    if (closed) return
    if (opcode === CLOSE) end(`WebSocket close ${payload.length < 2 ? '' : payload.readUInt16BE(0)}`.trim())
    else if (opcode === PING) {
      if (answers()) socket.write(frameOf(payload, PONG))
    } else if (opcode === TEXT || opcode === BINARY) onMessage(payload, opcode === BINARY)
  }

  /** @param {Buffer} chunk valid during this call only @returns {boolean} whether to go on reading */
  function onData (chunk) {
    if (closed) return true
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    if (!upgraded) {
      const at = bytes.indexOf('\r\n\r\n')
      if (at === -1) {
        rest = Buffer.from(bytes)
        return true
      }
      const head = bytes.toString('latin1', 0, at)
      if (!head.startsWith('HTTP/1.1 101 ') || !head.includes(ACCEPT)) {
        end(head.slice(0, head.indexOf('\r\n')))
        return true
      }
      upgraded = true
      bytes = bytes.subarray(at + 4)
      onConnect?.()
    }
    const left = readFrames(bytes, onFrame)
    rest = left.length === 0 ? EMPTY : Buffer.from(left)
    return true
  }

  return {
    send (content) { socket.write(frameOf(content)) },
    close () {
      closed = true
      // Reading goes on until the server has closed too: unread bytes would reset the connection, and the server would
      // lose what was written last, such as an acknowledgement.
      socket.end()
      const timer = setTimeout(() => socket.destroy(), LINGER).unref()
      socket.once('close', () => clearTimeout(timer))
    }
  }
}

/**
 * A browser's request, so that the server parses as many headers.
 * @param {string} host @param {number} port @param {string} target @param {string} headers
 */
const upgradeRequest = (host, port, target, headers) => `GET ${target} HTTP/1.1\r
Host: ${host}:${port}\r
Connection: Upgrade\r
Pragma: no-cache\r
Cache-Control: no-cache\r
User-Agent: Mozilla/5.0 (X11; Linux x86_64) inkcast-load\r
Upgrade: websocket\r
Sec-WebSocket-Version: 13\r
Accept-Encoding: gzip, deflate\r
Accept-Language: en-US,en;q=0.9\r
Sec-WebSocket-Key: ${KEY}\r
${headers}\r
`
