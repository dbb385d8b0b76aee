/**
 * An attacker's bytes, written by hand: a library would refuse to send them.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { setTimeout as delay } from 'node:timers/promises'

export const TEXT = 1
export const BINARY = 2
export const PING = 9
export const PONG = 10
const CONTINUATION = 0
const FIN = 0x80
const COMPRESSED = 0x40
const MASKED = 0x80
const EMPTY = Buffer.alloc(0)

/**
 * A masked WebSocket frame (RFC 6455, section 5.2).
 *
 * @param {number} opcode
 * @param {Buffer | string} [payload]
 * @param {object} [options]
 * @param {boolean} [options.fin] default true
 * @param {boolean} [options.compressed] sets the bit of permessage-deflate
 * @param {number} [options.claimed] length in its header, bytes; default: the actual one
 * @returns {Buffer}
 */
export function frame (opcode, payload = EMPTY, { fin = true, compressed = false, claimed } = {}) {
  const bytes = Buffer.from(payload)
  const length = claimed ?? bytes.length
  const header = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14)
  header[0] = (fin ? FIN : 0) | (compressed ? COMPRESSED : 0) | opcode
  header[1] = MASKED | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (length >= 65_536) header.writeBigUInt64BE(BigInt(length), 2)
  else if (length >= 126) header.writeUInt16BE(length, 2)
  const mask = randomBytes(4)
  mask.copy(header, header.length - 4)
  for (let i = 0; i < bytes.length; i++) bytes[i] ^= mask[i & 3]
  return Buffer.concat([header, bytes])
}

/**
 * @param {number} opcode
 * @param {number} empty number of empty frames between the first and the last
 * @returns {Buffer} one message in fragments
 */
export function fragments (opcode, empty) {
  return Buffer.concat([
    frame(opcode, '3', { fin: false }),
    ...Array.from({ length: empty }, () => frame(CONTINUATION, '', { fin: false })),
    frame(CONTINUATION, '')
  ])
}

/**
 * @param {object} [options]
 * @param {string} [options.query]
 * @param {string} [options.path]
 * @param {string[]} [options.headers]
 */
export const upgradeRequest = ({ query = '&transport=websocket', path = '/socket.io/', headers = [] } = {}) =>
  [
    `GET ${path}?EIO=4${query} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
    '',
    ''
  ].join('\r\n')

/**
 * One TCP connection that discards what it reads. Reading can be stopped. It stays open on its side when the server
 * closes the other.
 */
export class Line {
  ended = false
  written = 0
  received = 0
  /** Last bytes received, searched for a response. */
  tail = ''

  /** @param {{ port: number, source?: string, secure?: boolean }} options */
  constructor ({ port, source = '127.0.0.1', secure = false }) {
    this.port = port
    const address = { host: '127.0.0.1', port, localAddress: source, allowHalfOpen: true }
    this.socket = secure ? tls.connect({ ...address, rejectUnauthorized: false }) : net.connect(address)
    this.socket.setNoDelay(true)
    this.socket.on('error', () => {})
    this.socket.on('close', () => { this.ended = true })
    // closed by the server: a flooding attacker opens another connection; `hold` keeps this one
    this.socket.on('end', () => { this.ended = true })
    this.socket.on('data', (chunk) => {
      this.received += chunk.length
      this.tail = (this.tail + chunk.toString('latin1', 0, 2000)).slice(-2000)
    })
  }

  /**
   * @param {string | Buffer} bytes
   * @returns {Promise<void>} resolves when there is room for more, or the connection has ended
   */
  async write (bytes) {
    if (this.ended) return
    this.written += bytes.length
    if (this.socket.write(bytes)) return
    const gone = new AbortController()
    await Promise.race([
      once(this.socket, 'drain', gone).catch(() => {}),
      once(this.socket, 'close', gone).catch(() => {}),
      once(this.socket, 'end', gone).catch(() => {}),
      delay(1000, undefined, { ref: false })
    ])
    gone.abort()
  }

  /**
   * @param {RegExp} pattern
   * @param {number} [ms]
   * @returns {Promise<RegExpExecArray | null>} null: the connection ended, or the time is over
   */
  async answer (pattern, ms = 2000) {
    const deadline = performance.now() + ms
    for (;;) {
      const match = pattern.exec(this.tail)
      if (match !== null || this.ended || performance.now() > deadline) return match
      await delay(5)
    }
  }

  close () { this.socket.destroy() }
}

/**
 * @typedef {object} Target
 * @property {number} port of the gateway
 * @property {number} apiPort
 * @property {number} adminPort
 * @property {string} apiToken of a caller with all rights
 * @property {boolean} secure the gateway speaks TLS
 * @property {string} token of a user, for admitted attackers
 * @property {number} seconds duration of the attack
 * @property {number} [grpcPort]
 *
 * @typedef {object} Sent
 * @property {number} connections
 * @property {number} bytes
 */

/** Delay before a closed line is replaced, ms. */
const REPLACE = 20

/**
 * Keeps lines busy until the time is over; lines that the server closes are replaced.
 *
 * @param {Target} target
 * @param {number} count parallel lines
 * @param {(line: Line, until: number) => Promise<void>} use writes until `until` (performance.now) or the line's end
 * @returns {Promise<Sent>}
 */
export async function keepBusy ({ port, seconds, secure }, count, use) {
  const until = performance.now() + seconds * 1000
  const sent = { connections: 0, bytes: 0 }
  await Promise.all(Array.from({ length: count }, async (_, i) => {
    while (performance.now() < until) {
      const line = new Line({ port, secure, source: `127.0.1.${1 + i % 200}` })
      sent.connections++
      await use(line, until)
      sent.bytes += line.written
      line.close()
      await delay(REPLACE)
    }
  }))
  return sent
}

/**
 * Like keepBusy, on WebSockets without a token yet.
 *
 * @param {Target} target
 * @param {number} count
 * @param {() => Buffer | Buffer[]} next bytes to write each time
 * @param {{ query?: string, path?: string, headers?: string[], pause?: number }} [options] pause between two writes of
 *   a line, ms
 */
export function floodFrames (target, count, next, { query, path, headers, pause = 0 } = {}) {
  return keepBusy(target, count, async (line, until) => {
    await line.write(upgradeRequest({ query, path, headers }))
    if (await line.answer(/ 101 /) === null) return
    while (!line.ended && performance.now() < until) {
      await Promise.all([next()].flat().map((bytes) => line.write(bytes)))
      await delay(pause)
    }
  })
}

/**
 * Opens lines once, uses each, and keeps them open until the time is over; closed lines are not replaced.
 *
 * @param {Target} target
 * @param {number} count
 * @param {(line: Line, index: number) => Promise<unknown>} use
 * @param {{ port?: number, atOnce?: number }} [options]
 * @returns {Promise<Sent & { lines: Line[] }>}
 */
export async function hold ({ port, seconds, secure }, count, use, { port: other, atOnce = 100 } = {}) {
  const until = performance.now() + seconds * 1000
  /** @type {Line[]} */
  const lines = []
  for (let at = 0; at < count && performance.now() < until; at += atOnce) {
    const opened = Array.from(
      { length: Math.min(atOnce, count - at) },
      (_, i) => new Line({ port: other ?? port, secure, source: `127.0.1.${1 + ((at + i) % 200)}` })
    )
    lines.push(...opened)
    await Promise.all(opened.map((line, i) => use(line, at + i)))
  }
  await delay(Math.max(0, until - performance.now()))
  return { connections: lines.length, bytes: lines.reduce((sum, { written }) => sum + written, 0), lines }
}
