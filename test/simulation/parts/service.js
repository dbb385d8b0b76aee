import http from 'node:http'
import { API_TOKEN } from './cluster.js'
import { GrpcDoor } from './grpc-door.js'
import { logOf } from './page.js'

/** Between two attempts, ms. */
const PAUSE = 150
/** Time for an answer; the api's own are shorter, ms. */
const PATIENCE = 40_000
/** Shares of the requests that are calls of gRPC. */
const SHARES = [0.1, 0.5, 1]
/** Answers after which a request is sent again. */
const AGAIN = new Set([409, 429, 502, 503, 504])

/**
 * A service of the application, which publishes to documents over HTTP and gRPC: each record of a document after the
 * answer to the one before, again and again with the same key until it has one.
 */
export class Service {
  #agent = new http.Agent({ keepAlive: true })
  /** Number of the last record that was accepted, by document or log of a user. @type {Map<string, number>} */
  accepted = new Map()
  /**
   * Number of the last record that it has, which may have no answer yet: it writes before it publishes.
   * @type {Map<string, number>}
   */
  written = new Map()
  /** Records that have no answer yet. */
  waiting = 0
  attempts = 0
  #grpc
  #share

  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {import('../world/random.js').SeededRandom} [ways] draws which requests are calls of gRPC; default: none
   */
  constructor (process, ways) {
    this.process = process
    process.isClient = true
    this.ways = ways
    this.#share = ways?.pick(SHARES) ?? 0
    this.#grpc = new GrpcDoor(process, PATIENCE)
  }

  /** Calls of gRPC. */
  get calls () { return this.#grpc.calls }

  /** @param {string} guid @returns {Promise<void>} the next record of the document is accepted */
  publish (guid) {
    // some ask for a receipt
    const asks = this.process.drawn.chance(0.2)
    return this.#next(guid, `/v1/documents/${guid}/broadcast`, {
      'x-event': 'record', ...asks && { 'x-receipt': 'true', 'x-trace-id': `${guid}-${(this.accepted.get(guid) ?? 0) + 1}` }
    })
  }

  /** @param {string} uid @returns {Promise<void>} the next record of the user's log is accepted */
  notify (uid) { return this.#next(logOf(uid), `/v1/users/${uid}/send`, { 'x-event': 'note', 'x-keep': 'true' }) }

  /** @param {string} guid @returns {Promise<void>} a record that no log keeps is accepted */
  async wave (guid) {
    await this.until(`/v1/documents/${guid}/broadcast`, '{}', { 'x-event': 'wave', 'x-ephemeral': 'true' })
  }

  /** @param {string} log @param {string} path @param {Record<string, string>} headers */
  async #next (log, path, headers) {
    const number = this.write(log)
    await this.until(path, JSON.stringify({ writer: this.process.name, number }), {
      ...headers, 'idempotency-key': `${log}-${number}`
    })
    this.published(log, number)
  }

  /** @param {string} log @returns {number} of its next record, which will be published */
  write (log) {
    const number = (this.accepted.get(log) ?? 0) + 1
    this.written.set(log, number)
    this.waiting++
    return number
  }

  /** @param {string} log @param {number} number */
  published (log, number) {
    this.waiting--
    this.accepted.set(log, number)
  }

  /** @param {string} path @returns {Promise<any>} the answer to a GET */
  read (path) { return this.until(path, '', {}, 'GET') }

  /**
   * Sends a request until it is accepted.
   * @param {string} path
   * @param {string} body
   * @param {Record<string, string>} headers
   * @param {string} [method]
   * @param {() => void} [onAgain] called when it is sent again
   * @returns {Promise<any>} the answer
   */
  async until (path, body, headers, method = 'POST', onAgain = () => {}) {
    const { clock, world } = this.process
    for (;;) {
      const { status, text } = await this.#request(method, path, body, headers)
      this.attempts++
      if (status >= 200 && status < 300) return JSON.parse(text)
      if (status !== 0 && !AGAIN.has(status)) {
        world.violation(`${this.process.name}: ${method} ${path} is refused: ${status} ${text}`)
        return undefined
      }
      await clock.sleep(this.process.drawn.duration(PAUSE))
      onAgain()
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {string} body
   * @param {Record<string, string>} headers
   * @returns {Promise<{ status: number, text: string }>} 0: no answer
   */
  #request (method, path, body, headers) {
    if (method !== 'GET' && this.ways?.chance(this.#share)) return this.#grpc.request(method, path, body, headers)
    return new Promise((resolve) => {
      const request = http.request({
        host: 'api', port: 80, path, method, agent: this.#agent, timeout: PATIENCE,
        headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', ...headers }
      }, (answer) => {
        let text = ''
        answer.on('data', (chunk) => { text += chunk })
        answer.on('error', () => resolve({ status: 0, text }))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      })
      request.on('timeout', () => {
        this.process.world.violation(`${this.process.name}: ${method} ${path} has no answer for ${PATIENCE / 1000} s`)
        request.destroy()
      })
      request.on('error', () => resolve({ status: 0, text: '' }))
      request.end(body)
    })
  }
}
