import { openWebSocket } from '../../packages/load/websocket.js'
import { OpeningClient } from './opening-client.js'

/** Where inkcast takes plain WebSockets in a benchmark. */
export const PLAIN_PATH = '/websocket/handshake'

const RECORD = Buffer.from('{"event":"message","payload":')

/** A client of the plain protocol (docs/websocket.md) in JSON, on a bare TCP socket. It joins one document. */
export class PlainClient extends OpeningClient {
  #socket
  #guid

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {import('./websocket-client.js').Member} member
   * @param {import('./websocket-client.js').Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor ({ host, port }, { token, guid, source }, listeners, settle) {
    super(listeners, settle)
    this.#guid = guid
    const headers = `Authorization: Bearer ${token}\r\nSec-WebSocket-Protocol: inkcast.json\r\n`
    this.#socket = openWebSocket({ host, port, secure: false, insecure: false, path: PLAIN_PATH, query: '', headers }, source, {
      onMessage: (payload) => {
        if (this.state !== 'open') this.#message(JSON.parse(payload.toString()))
        else if (RECORD.equals(payload.subarray(0, RECORD.length))) this.received(payload, RECORD.length)
      },
      onEnd: (reason) => this.fail(reason)
    })
  }

  /** @override */
  close () {
    super.close()
    this.#socket.close()
  }

  /** @param {any} message */
  #message ({ event, id, payload }) {
    if (event === 'gateway:connected') {
      this.joins()
      this.#socket.send(JSON.stringify({ id: 1, event: 'doc:join', payload: { guid: this.#guid } }))
    } else if (event === 'gateway:disconnect') this.fail(`refused: ${payload.code}`)
    else if (id === 1 && !payload.ok) this.fail(`join refused: ${payload.error.code}`)
    else if (id === 1) this.opened()
  }
}
