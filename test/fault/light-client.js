import net from 'node:net'
import { CLOSE, readFrames, TEXT, textFrame } from '../../bench/client/frames.js'
import { READ_BUFFER } from '../../bench/client/read-buffer.js'
import { Member } from './member.js'

/** Reconnection delay like that of stock clients: doubles from the first to the last value, randomized by half, ms. */
const [FIRST, LAST] = [1000, 5000]
const EMPTY = Buffer.alloc(0)
const PONG = textFrame('3')

/**
 * A client for storms of thousands: a minimum of WebSocket and Socket.IO on a bare TCP socket, because a stock client
 * uses several times the CPU of the server's side. It reconnects as stock clients do.
 */
export class LightClient extends Member {
  /** @type {net.Socket | undefined} */
  #socket
  /** @type {Buffer} beginning of a frame, or of the upgrade response */
  #rest = EMPTY
  #upgraded = false
  #tries = 0
  #closed = false
  #options
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => {
    if (opcode === TEXT) this.#packet(payload.toString())
    else if (opcode === CLOSE) this.#socket?.destroy()
  }

  /**
   * @param {{ url: string, number: number, guids: string[] }} options
   * @param {(latency: number) => void} onRecord
   */
  constructor (options, onRecord) {
    super(options.guids, onRecord)
    this.#options = options
    this.#connect()
  }

  #connect () {
    if (this.#closed) return
    const { hostname, port, host } = new URL(this.#options.url)
    this.#rest = EMPTY
    this.#upgraded = false
    const socket = this.#socket = net.connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => {
          // ignore data of a connection that was cut
          if (socket === this.#socket) this.#data(/** @type {Buffer} */ (buffer).subarray(0, length))
          return true
        }
      }
    })
    socket.on('connect', () => socket.write(upgradeRequest(host)))
    socket.on('error', (error) => this.refused(/** @type {NodeJS.ErrnoException} */ (error).code ?? error.message))
    socket.on('close', () => {
      if (socket !== this.#socket) return
      this.connected = false
      const wait = Math.min(LAST, FIRST * 2 ** this.#tries++) * (0.5 + Math.random())
      setTimeout(() => this.#connect(), wait)
    })
  }

  /** @param {Buffer} chunk valid during this call only */
  #data (chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    if (!this.#upgraded) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end !== -1) {
        const status = bytes.toString('latin1', 9, 12)
        if (status !== '101') return this.#giveUp(status)
        this.#upgraded = true
        bytes = bytes.subarray(end + 4)
      }
    }
    const rest = this.#upgraded ? readFrames(bytes, this.#onFrame) : bytes
    this.#rest = rest.length === 0 ? EMPTY : Buffer.from(rest)
  }

  /** @param {string} packet */
  #packet (packet) {
    if (packet.startsWith('42')) {
      const [event, payload, meta] = JSON.parse(packet.slice(2))
      if (event === 'record') this.record(payload, meta)
      else if (event === 'doc:joined') this.joined(payload)
      else if (event === 'doc:resync') this.resync(payload)
      // rare; handled like a lost connection
      else if (event === 'doc:refused') this.#giveUp(`join: ${payload.error.code}`)
    } else if (packet === '2') {
      this.#socket?.write(PONG)
    } else if (packet.startsWith('0')) {
      this.#socket?.write(
        textFrame(`40${JSON.stringify({ client: `client-${this.#options.number}`, documents: this.positions })}`)
      )
    } else if (packet.startsWith('40')) {
      this.connected = true
      this.connects++
      this.#tries = 0
    } else if (packet.startsWith('44')) {
      this.#giveUp(JSON.parse(packet.slice(2)).data?.code ?? packet)
    } else if (packet.startsWith('41') || packet === '1') {
      this.#giveUp('disconnected')
    }
  }

  /** @param {string} reason */
  #giveUp (reason) {
    this.refused(reason)
    this.#socket?.destroy()
  }

  /** Loses its connection and reconnects at once. */
  cut () {
    const socket = this.#socket
    this.connected = false
    this.#connect()
    socket?.destroy()
  }

  close () {
    this.#closed = true
    this.#socket?.destroy()
  }
}

/** @param {string} host */
const upgradeRequest = (host) => [
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1', `Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13', '', ''
].join('\r\n')
