import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { Member } from './member.js'

/** What clients do that nobody tells otherwise: most are on WebSocket, one of ten stays with polling. */
const KINDS = [
  { transports: ['websocket'], codec: 'json' },
  { transports: ['polling', 'websocket'], codec: 'json' },
  { transports: ['websocket'], codec: 'msgpack' },
  { transports: ['websocket'], codec: 'json' },
  { transports: ['polling', 'websocket'], codec: 'msgpack' },
  { transports: ['websocket'], codec: 'json' },
  { transports: ['polling'], codec: 'json' },
  { transports: ['websocket'], codec: 'msgpack' },
  { transports: ['polling', 'websocket'], codec: 'json' },
  { transports: ['websocket'], codec: 'json' }
]
/** Before a document that was refused is asked for again, ms. */
const JOIN_AGAIN = 1000

/**
 * A stock socket.io-client with its usual times, and the few lines that docs/protocol.md asks for.
 */
export class StockClient extends Member {
  #socket

  /**
   * @param {object} options
   * @param {string} options.url
   * @param {number} options.number decides what kind of client it is
   * @param {string[]} options.guids
   * @param {(latency: number) => void} onRecord
   */
  constructor ({ url, number, guids }, onRecord) {
    super(guids, onRecord)
    const { transports, codec } = KINDS[number % KINDS.length]
    const socket = this.#socket = io(url, {
      transports,
      forceNew: true,
      auth: (tell) => tell({ client: `client-${number}`, documents: this.positions }),
      ...codec === 'msgpack' ? { parser: msgpackParser } : {}
    })
    socket.on('record', (payload, meta) => this.record(payload, meta))
    socket.on('doc:joined', (answer) => this.joined(answer))
    socket.on('doc:resync', (told) => this.resync(told))
    socket.on('doc:refused', ({ guid, error }) => {
      this.refused(`join: ${error.code}`)
      this.#joinLater(guid)
    })
    socket.on('connect', () => {
      this.connected = true
      this.connects++
    })
    socket.on('disconnect', () => { this.connected = false })
    socket.on('connect_error', (/** @type {any} */ { message, data }) => {
      this.refused(data?.code ?? message)
      if (!socket.active && data?.retryable) setTimeout(() => socket.connect(), data.retryInMs)
    })
  }

  /** @param {string} guid */
  #joinLater (guid) {
    const { id } = this.#socket
    setTimeout(() => {
      // another connection has its own answer
      if (this.#socket.id !== id || !this.#socket.connected) return
      const position = this.positions[guid] ?? undefined
      this.#socket.emit('doc:join', { guid, position }, (/** @type {any} */ answer) => {
        if (answer.ok) this.joined(answer)
        else this.#joinLater(guid)
      })
    }, JOIN_AGAIN)
  }

  /** Loses its connection, without a word to the other side. */
  cut () { /** @type {any} */ (this.#socket.io.engine).transport.ws?.terminate() }

  close () { this.#socket.disconnect() }
}
