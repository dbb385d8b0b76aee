/**
 * TLS clients of bench/tls.js, in a process of their own: commands and results are messages.
 */
import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {string} [ca] path; default: no TLS
 * @property {'TLSv1.2' | 'TLSv1.3'} [version]
 *
 * @typedef {{ command: 'open', target: Target, count: number, concurrency: number }
 *   | { command: 'handshakes', target: Target, count: number, resume: boolean, concurrency: number }} Command
 */

const UPGRADE = [
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1', 'Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket',
  'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', ''
].join('\r\n')
/** Engine.IO's ping and pong as frames; a client's are masked, here with zeros. */
const PING = Buffer.from([0x81, 1, 0x32])
const PONG = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x33])
/** Socket.IO's CONNECT. */
const CONNECT = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30])

/** @type {Set<net.Socket>} */
const open = new Set()

/** @param {Target} target @param {Buffer} [session] @returns {net.Socket | tls.TLSSocket} */
function connect ({ port, ca, version }, session) {
  return ca === undefined
    ? net.connect({ port, host: '127.0.0.1' })
    : tls.connect({
        port, host: '127.0.0.1', ca: authority(ca), minVersion: version, maxVersion: version, session,
        // one handshake is to differ from another only by its key
        ALPNProtocols: ['http/1.1']
      })
}

/** @type {Map<string, Buffer>} */
const authorities = new Map()
/** @param {string} path */
function authority (path) {
  const known = authorities.get(path) ?? readFileSync(path)
  authorities.set(path, known)
  return known
}

/** An admitted, idle Socket.IO connection. @param {Target} target @returns {Promise<void>} */
function openOne (target) {
  return new Promise((resolve, reject) => {
    const socket = connect(target)
    open.add(socket)
    let text = ''
    socket.once(target.ca === undefined ? 'connect' : 'secureConnect', () => socket.write(UPGRADE))
    socket.on('error', reject)
    socket.on('data', function answer (chunk) {
      const before = text
      text += chunk.toString('latin1')
      if (text.includes('"sid"') && !before.includes('"sid"')) socket.write(CONNECT)
      if (!text.includes('40{"sid"')) return
      socket.off('data', answer)
      socket.on('data', (data) => { if (data.includes(PING)) socket.write(PONG) })
      resolve()
    })
    socket.on('close', () => reject(new Error(`closed: ${text}`)))
  })
}

/** A handshake, one request (with which a client of TLS 1.3 gets its ticket), and the end. */
function handshake (/** @type {Target} */ target, /** @type {Buffer | undefined} */ session) {
  return /** @type {Promise<{ reused: boolean, session?: Buffer }>} */ (new Promise((resolve, reject) => {
    const socket = connect(target, session)
    /** @type {{ reused: boolean, session?: Buffer }} */
    const result = { reused: false }
    socket.once(target.ca === undefined ? 'connect' : 'secureConnect', () => {
      if (socket instanceof tls.TLSSocket) result.reused = socket.isSessionReused()
      socket.write('GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    })
    socket.on('session', (ticket) => { result.session = ticket })
    socket.on('error', reject).resume().on('close', () => resolve(result))
  }))
}

/** @param {number} count @param {number} concurrency @param {(i: number) => Promise<unknown>} task */
async function many (count, concurrency, task) {
  let next = 0
  const run = async () => { while (next < count) await task(next++) }
  await Promise.all(Array.from({ length: concurrency }, run))
}

/** @param {Command} message @returns {Promise<object>} */
async function perform (message) {
  const { target, count, concurrency } = message
  if (message.command === 'open') {
    await many(count, concurrency, () => openOne(target))
    return { open: open.size }
  }
  const { session } = message.resume ? await handshake(target, undefined) : {}
  let reused = 0
  const from = performance.now()
  await many(count, concurrency, async () => { if ((await handshake(target, session)).reused) reused++ })
  return { reused, seconds: (performance.now() - from) / 1000 }
}

process.on('message', async (/** @type {Command} */ message) => {
  try {
    process.send?.({ ok: true, ...await perform(message) })
  } catch (error) {
    process.send?.({ ok: false, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
