/**
 * The floor of a handshake: the bytes of Engine.IO and Socket.IO for a client that joins one document, answered by
 * `net.Socket.write`, without Socket.IO, tokens, Redis, limits and other workers. Clients begin as WebSocket, or with
 * long polling and upgrade. It reads only what the clients of this benchmark send. Listens on PORT.
 */
import { hash } from 'node:crypto'
import net from 'node:net'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const END = '\r\n\r\n'
const DATE = new Date().toUTCString()

/**
 * @typedef {object} Session
 * @property {string[]} queue packets for the next poll
 * @property {net.Socket | null} poll
 * @property {net.Socket | null} socket its WebSocket
 */

/** @type {Map<string, Session>} */
const sessions = new Map()
let count = 0

/** @param {boolean} upgrades */
function begin (upgrades) {
  const sid = `session-${String(++count).padStart(12, '0')}`
  /** @type {Session} */
  const session = { queue: [], poll: null, socket: null }
  sessions.set(sid, session)
  const upgradesTo = upgrades ? '["websocket"]' : '[]'
  const times = '"pingInterval":600000,"pingTimeout":20000,"maxPayload":1000000'
  const opening = `0{"sid":"${sid}","upgrades":${upgradesTo},${times}}`
  return { session, opening }
}

/** @param {net.Socket} socket @param {string} body */
const answer = (socket, body) => socket.end(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=UTF-8\r\ncache-control: no-store\r\nContent-Length: ${body.length}\r\n` +
  `Date: ${DATE}\r\nConnection: close${END}${body}`, 'latin1'
)

/** @param {net.Socket} socket @param {string} text shorter than 126 bytes, or than 64 KB */
function writeFrame (socket, text) {
  const { length } = text
  const head = length < 126 ? [0x81, length] : [0x81, 126, length >> 8, length & 255]
  socket.write(Buffer.concat([Buffer.from(head), Buffer.from(text, 'latin1')]))
}

/** @param {Session} session @param {string} packet */
function send (session, packet) {
  if (session.socket !== null) return writeFrame(session.socket, packet)
  if (session.poll === null) return session.queue.push(packet)
  answer(session.poll, packet)
  session.poll = null
}

/** @param {Session} session @param {net.Socket} socket @param {string} packet */
function received (session, socket, packet) {
  if (packet.startsWith('40')) return send(session, '40{"sid":"a-connection-of-20-char"}')
  if (packet.startsWith('42')) return send(session, `43${/^\d*/.exec(packet.slice(2))?.[0]}[{"ok":true}]`)
  if (packet === '2probe') {
    writeFrame(socket, '3probe')
    if (session.poll !== null) send(session, '6')
  } else if (packet === '5') {
    session.socket = socket
    for (const each of session.queue.splice(0)) send(session, each)
  }
}

/** @param {Buffer} chunk whole masked frames @param {(packet: string) => void} onPacket */
function readFrames (chunk, onPacket) {
  for (let at = 0; at < chunk.length;) {
    const short = chunk[at + 1] & 127
    const start = short === 126 ? at + 4 : at + 2
    const length = short === 126 ? chunk.readUInt16BE(at + 2) : short
    const payload = chunk.subarray(start + 4, start + 4 + length)
    for (let i = 0; i < length; i++) payload[i] ^= chunk[start + i % 4]
    if ((chunk[at] & 15) === 1) onPacket(payload.toString('latin1'))
    at = start + 4 + length
  }
}

/** @param {net.Socket} socket @param {string} text of a request to upgrade @param {Session | undefined} known */
function upgrade (socket, text, known) {
  const key = /sec-websocket-key: (\S+)/i.exec(text)?.[1]
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ` +
    `${hash('sha1', key + GUID, 'base64')}${END}`)
  let session = known
  if (session === undefined) {
    const begun = begin(false)
    session = begun.session
    session.socket = socket
    writeFrame(socket, begun.opening)
  }
  const own = session
  socket.removeAllListeners('data')
  socket.on('data', (chunk) => readFrames(chunk, (packet) => received(own, socket, packet)))
}

const server = net.createServer({ noDelay: true }, (socket) => {
  let text = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const end = text.indexOf(END)
    if (end === -1) return
    const sid = /[?&]sid=([^& ]+)/.exec(text)?.[1]
    const session = sid === undefined ? undefined : sessions.get(sid)
    if (/\r\nupgrade: websocket/i.test(text)) return upgrade(socket, text, session)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
    if (text.length < end + END.length + length) return
    if (session === undefined) return answer(socket, begin(true).opening)
    if (text.startsWith('POST')) {
      for (const packet of text.slice(end + END.length).split('\x1e')) received(session, socket, packet)
      answer(socket, 'ok')
    } else if (session.queue.length > 0) answer(socket, session.queue.splice(0).join('\x1e'))
    else session.poll = socket
  })
})
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 }, () => console.log('listening'))
