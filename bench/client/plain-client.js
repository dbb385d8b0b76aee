import { openWebSocket } from '../../packages/load/websocket.js'

/** Where inkcast takes plain WebSockets in a benchmark. */
export const PLAIN_PATH = '/websocket/handshake'

/** A client of the plain protocol (docs/websocket.md) in JSON, on a bare TCP socket. It joins one document. */
export class PlainClient {
  #state = 'opening'
  #socket
  #guid
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {import('./websocket-client.js').Member} member
   * @param {Pick<import('./websocket-client.js').Listeners, 'onLost'>} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor ({ host, port }, { token, guid, source }, listeners, settle) {
    this.#guid = guid
    this.#listeners = listeners
    this.#settle = settle
    const headers = `Authorization: Bearer ${token}\r\nSec-WebSocket-Protocol: inkcast.json\r\n`
    this.#socket = openWebSocket({ host, port, secure: false, insecure: false, path: PLAIN_PATH, query: '', headers }, source, {
      onMessage: (payload) => { if (this.#state !== 'open') this.#message(JSON.parse(payload.toString())) },
      onEnd: (reason) => this.fail(reason)
    })
  }

  close () {
    this.#state = 'closed'
    this.#socket.close()
  }

  /** @param {string} reason */
  fail (reason) {
    const state = this.#state
    if (state === 'closed') return
    this.close()
    if (state === 'open') this.#listeners.onLost?.(reason)
    else this.#done(new Error(`${reason} while ${state}`))
  }

  /** @param {any} message */
  #message ({ event, id, payload }) {
    if (event === 'gateway:connected') {
      this.#state = 'joining'
      this.#socket.send(JSON.stringify({ id: 1, event: 'doc:join', payload: { guid: this.#guid } }))
    } else if (event === 'gateway:disconnect') this.fail(`refused: ${payload.code}`)
    else if (id === 1 && !payload.ok) this.fail(`join refused: ${payload.error.code}`)
    else if (id === 1) {
      this.#state = 'open'
      this.#done(null)
    }
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }
}
