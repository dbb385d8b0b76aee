import http from 'node:http'
import { API_TOKEN } from './cluster.js'

/** Between two attempts, ms. */
const PAUSE = 150
/** Time for an answer; the api's own are shorter, ms. */
const PATIENCE = 40_000
/** Answers after which a request is sent again. */
const AGAIN = new Set([409, 429, 502, 503, 504])

/**
 * A service of the application, which publishes to documents over HTTP: each record of a document after the answer to
 * the one before, again and again with the same key until it has one.
 */
export class Service {
  #agent = new http.Agent({ keepAlive: true })
  /** Number of the last record that was accepted, by guid. @type {Map<string, number>} */
  accepted = new Map()
  /** Records that have no answer yet. */
  waiting = 0
  attempts = 0

  /** @param {import('../world/sim-process.js').SimProcess} process */
  constructor (process) {
    this.process = process
    process.isClient = true
  }

  /** @param {string} guid @returns {Promise<void>} the next record of the document is accepted */
  async publish (guid) {
    const number = (this.accepted.get(guid) ?? 0) + 1
    this.waiting++
    await this.until(`/v1/documents/${guid}/broadcast`, JSON.stringify({ writer: this.process.name, number }), {
      'x-event': 'record', 'idempotency-key': `${guid}-${number}`
    })
    this.waiting--
    this.accepted.set(guid, number)
  }

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
      request.on('timeout', () => request.destroy())
      request.on('error', () => resolve({ status: 0, text: '' }))
      request.end(body)
    })
  }
}
