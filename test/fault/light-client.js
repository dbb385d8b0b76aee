import WebSocket from 'ws'
import { Member } from './member.js'

/** As stock clients: the first wait doubles up to the last one, spread by half, ms. */
const [FIRST, LAST] = [1000, 5000]

/**
 * A client for storms of thousands: WebSocket and JSON by hand, because a stock client costs more than the server does for it. It comes
 * back as stock clients do.
 */
export class LightClient extends Member {
  /** @type {WebSocket | undefined} */
  #ws
  #tries = 0
  #closed = false
  #options

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
    const ws = this.#ws = new WebSocket(`${this.#options.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`, { perMessageDeflate: false })
    ws.on('message', (data) => this.#packet(ws, data.toString()))
    ws.on('error', () => {})
    ws.on('close', () => {
      this.connected = false
      this.#connectIn(Math.min(LAST, FIRST * 2 ** this.#tries++) * (0.5 + Math.random()))
    })
  }

  /** @param {number} ms */
  #connectIn (ms) { setTimeout(() => this.#connect(), ms) }

  /** @param {WebSocket} ws @param {string} packet */
  #packet (ws, packet) {
    if (packet.startsWith('42')) {
      const [event, payload, meta] = JSON.parse(packet.slice(2))
      if (event === 'record') this.record(payload, meta)
      else if (event === 'doc:joined') this.joined(payload)
      else if (event === 'doc:resync') this.resync(payload)
      // as good as a lost connection, and seldom
      else if (event === 'doc:refused') ws.close()
    } else if (packet === '2') {
      ws.send('3')
    } else if (packet.startsWith('0')) {
      ws.send(`40${JSON.stringify({ client: `client-${this.#options.number}`, documents: this.positions })}`)
    } else if (packet.startsWith('40')) {
      this.connected = true
      this.connects++
      this.#tries = 0
    } else if (packet.startsWith('44') || packet.startsWith('41')) {
      ws.close()
    }
  }

  /** Loses its connection and comes back at once. */
  cut () {
    const ws = this.#ws
    ws?.removeAllListeners('close')
    ws?.removeAllListeners('message')
    ws?.terminate()
    this.connected = false
    this.#connect()
  }

  close () {
    this.#closed = true
    this.#ws?.terminate()
  }
}
