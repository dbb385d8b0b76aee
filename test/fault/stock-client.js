import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { runPrintedLines } from '../helpers/printed-lines.js'
import { Member } from './member.js'

/** Kinds of clients: most use WebSocket, one of ten stays with polling. */
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

/**
 * A stock socket.io-client with default timings that runs the client code of docs/protocol.md as printed. That code
 * decides the position to resume from and the records to show.
 */
export class StockClient extends Member {
  #socket
  /** Metadata of the record that the printed code showed last. @type {unknown} */
  #last

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
    const socket = this.#socket = runPrintedLines({
      guids,
      event: 'record',
      connect: (auth) => io(url, {
        transports,
        forceNew: true,
        auth: (tell) => auth((said) => tell({ client: `client-${number}`, ...said })),
        ...codec === 'msgpack' ? { parser: msgpackParser } : {}
      }),
      show: (guid, payload, meta) => this.#shown(guid, payload, meta)
    })
    // Runs after the printed code: a record that it did not show is a duplicate, dropped by offset.
    socket.on('record', (_payload, meta) => {
      if (meta !== this.#last) /** @type {any} */ (this.documents.get(meta.guid)).repeated++
    })
    socket.on('doc:joined', (answer) => this.joined(answer))
    socket.on('doc:resync', (told) => this.resync(told))
    socket.on('doc:refused', ({ error }) => this.refused(`join: ${error.code}`))
    socket.on('connect', () => {
      this.connected = true
      this.connects++
    })
    socket.on('disconnect', () => { this.connected = false })
    socket.on('connect_error', (/** @type {any} */ { message, data }) => this.refused(data?.code ?? message))
  }

  /** @param {string} guid @param {any} payload @param {any} meta */
  #shown (guid, payload, meta) {
    const checker = this.documents.get(guid)
    const received = checker?.received
    this.record(payload, meta)
    this.#last = meta
    if (checker?.received === received)
      checker?.faults.push({ fault: 'doubled', detail: `offset ${meta.offset} shown again` })
  }

  /** Loses its connection without a close frame. */
  cut () { /** @type {any} */ (this.#socket.io.engine).transport.ws?.terminate() }

  close () { this.#socket.disconnect() }
}
