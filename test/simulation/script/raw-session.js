import http from 'node:http'
import WebSocket from 'ws'
import { PUBLIC } from '../parts/cluster.js'
import { tokenOf } from '../parts/page.js'

const PATH = '/socket.io/?EIO=4'

/** @typedef {{ status: number, text: string }} Answer */

/** A client that writes the bytes of Engine.IO and Socket.IO itself. */
export class RawSession {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 4 })

  /** @param {import('./scripted-cluster.js').ScriptedCluster} cluster @param {string} name of its process */
  constructor (cluster, name) {
    this.cluster = cluster
    this.process = cluster.outside(name)
    /** Of a polling session. */
    this.sid = ''
  }

  /** @returns {Promise<Record<string, any>>} what the session was opened with */
  async openPolling () {
    const { text } = await this.request('GET', `${PATH}&transport=polling`)
    const opened = JSON.parse(text.slice(1))
    this.sid = opened.sid
    return opened
  }

  get address () { return `${PATH}&transport=polling&sid=${this.sid}` }

  /** @returns {Promise<Answer>} */
  poll () { return this.request('GET', this.address) }

  /** @param {string} body @returns {Promise<Answer>} */
  post (body) { return this.request('POST', this.address, body) }

  /**
   * @param {string} method
   * @param {string} path
   * @param {string} [body]
   * @returns {Promise<Answer>}
   */
  request (method, path, body) { return this.cluster.act(this.process, () => this.send(method, path, body)) }

  /**
   * In a turn of its process.
   * @param {string} method
   * @param {string} path
   * @param {string} [body]
   * @returns {Promise<Answer>}
   */
  send (method, path, body) {
    return new Promise((resolve, reject) => {
      const [host, port] = PUBLIC.split(':')
      http.request({ host, port, path, method, agent: this.#agent }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk) => { text += chunk }).on('error', reject)
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      }).on('error', reject).end(body)
    })
  }

  /**
   * @param {string} [query]
   * @returns {Promise<RawWebSocket>} open, or refused
   */
  async webSocket (query = '&transport=websocket') {
    /** @type {RawWebSocket | undefined} */
    let opened
    this.process.enter('open', () => { opened = new RawWebSocket(this, `ws://${PUBLIC}${PATH}${query}`) })
    await this.cluster.until(() => opened?.isSettled, { message: () => opened?.received })
    return /** @type {RawWebSocket} */ (/** @type {unknown} */ (opened))
  }
}

/** A WebSocket of a raw session. */
export class RawWebSocket {
  /** Messages, text as strings. @type {(string | Buffer)[]} */
  received = []
  isSettled = false
  isClosed = false

  /** @param {RawSession} session @param {string} url */
  constructor (session, url) {
    this.session = session
    this.ws = new WebSocket(url)
    this.ws.on('open', () => { this.isSettled = true })
    this.ws.on('error', () => {})
    this.ws.on('close', () => { this.isSettled = this.isClosed = true })
    this.ws.on('message', (data, isBinary) => {
      this.received.push(isBinary ? /** @type {Buffer} */ (data) : String(data))
    })
  }

  /** @param {...(string | Buffer)} messages */
  send (...messages) {
    const { cluster, process } = this.session
    return cluster.act(process, () => { for (const message of messages) this.ws.send(message) })
  }

  /** @param {RegExp} pattern @returns {Promise<string>} the first text that matches */
  async text (pattern) {
    return /** @type {string} */ (await this.session.cluster.until(
      () => this.received.find((message) => typeof message === 'string' && pattern.test(message)),
      { message: () => this.received }))
  }

  /** @param {object} [auth] beside the token @returns {Promise<string>} the answer to CONNECT */
  async connect (auth) {
    await this.text(/^0\{/)
    await this.send(`40${JSON.stringify({ token: tokenOf('ada'), ...auth })}`)
    return this.text(/^4[04]/)
  }

  /** @param {number} [timeout] virtual ms */
  closed (timeout) { return this.session.cluster.until(() => this.isClosed, { timeout, message: () => this.received }) }
}
