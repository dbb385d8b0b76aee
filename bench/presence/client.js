/**
 * A connection in the presence of one document that counts the presence messages it receives.
 */
import { openWebSocket } from '../../packages/load/websocket.js'

const PRESENCE = '42["doc:presence"'

export class RoomClient {
  /** Of presence messages: responses to joins, and events. */
  bytes = 0
  messages = 0
  /** Latest number of members received. */
  count = 0
  #socket
  #token
  /** @type {((error: Error | null) => void) | null} */
  #settle

  /**
   * @param {import('../client/websocket-client.js').Target} target
   * @param {{ token?: string, source: string }} member
   * @param {(error: Error | null) => void} settle called once: the client is connected, or failed
   */
  constructor (target, { token, source }, settle) {
    this.#token = token
    this.#settle = settle
    this.#socket = openWebSocket({ ...target, secure: false, insecure: false }, source, {
      onMessage: (payload) => this.#text(payload),
      onEnd: (reason) => this.fail(reason)
    })
  }

  /** @param {string} guid @param {object} state @returns {Promise<void>} */
  join (guid, state) {
    return new Promise((resolve, reject) => {
      this.#settle = (error) => error === null ? resolve() : reject(error)
      this.#socket.send(`420${JSON.stringify(['doc:join', { guid, state }])}`)
    })
  }

  /** @param {string} guid @param {object} state */
  setState (guid, state) { this.#socket.send(`42${JSON.stringify(['doc:state', { guid, state }])}`) }

  close () { this.#socket.close() }

  /** @param {string} reason */
  fail (reason) {
    this.close()
    this.#done(new Error(reason))
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }

  /** @param {Buffer} payload */
  #text (payload) {
    const begin = payload.toString('latin1', 0, PRESENCE.length)
    if (begin === PRESENCE) {
      this.bytes += payload.length
      this.messages++
      // searched from the end, because the fields around it are long; a list or a mark may follow
      this.count = Number(
        /"count":(\d+)[^{}]*\}\]$|"count":(\d+),"members"/.exec(payload.toString())?.slice(1).find(Boolean)
      )
    } else if (begin === '2') {
      this.#socket.send('3')
    } else if (begin[0] === '0') {
      this.#socket.send(`40${this.#token === undefined ? '' : JSON.stringify({ token: this.#token })}`)
    } else if (begin.startsWith('40')) {
      this.#done(null)
    } else if (begin.startsWith('430')) {
      this.bytes += payload.length
      const [answer] = JSON.parse(payload.toString().slice(3))
      this.count = answer.count
      this.#done(answer.ok ? null : new Error(answer.error.code))
    } else if (begin.startsWith('44')) {
      this.fail(payload.toString())
    }
  }
}
