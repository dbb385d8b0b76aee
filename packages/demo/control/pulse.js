import http from 'node:http'
import https from 'node:https'

/**
 * @typedef {object} PulseState
 * @property {string} run changes with this process: numbers begin at 1
 * @property {string | null} document
 * @property {boolean} running
 * @property {number} rate records per second
 * @property {number} first number of the document's first record: those before it went to another document
 * @property {number} sent the last number
 * @property {number[]} open numbers that are not acknowledged yet
 * @property {number[]} refused numbers that were given up
 * @property {string | null} problem of the last request
 *
 * @typedef {'fault' | 'crowd'} Holder
 * @typedef {import('../../../src/base/common/clock.js').Timer} Timer
 */

/** Event of the records. */
export const PULSE = 'demo:pulse'
/** Records per second, unless the document's log is short; fewer while each one goes to a crowd. */
const RATE = 20
const RATE_WITH_CROWD = 10
/** The log must hold this time, s: clients that are disconnected for less miss nothing. */
const LOG_SECONDS = 30
/** After the last holder has released it, ms. */
const TAIL = 1500
const TIMEOUT = 5000
const RETRY = 200
/** A record is given up after this time, ms. */
const PATIENCE = 30_000
/** Records in progress; while there are as many, none is added. */
const MAX_OPEN = 400
/** Records that were given up; then nothing is published any more. */
const MAX_REFUSED = 100

/**
 * Numbered records that are published to a document through the api, as a business service would: repeated with the
 * same idempotency key until they are acknowledged. A page can compare what arrives with what was acknowledged.
 */
export class Pulse {
  #inkcast
  #clock
  #api
  #run
  /** Records per second that the document's log can keep. */
  #allowed
  #agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  /** Why it runs. @type {Set<Holder>} */
  #holders = new Set()
  /** @type {Set<number>} */
  #open = new Set()
  /** @type {number[]} */
  #refused = []
  /** @type {string | null} */
  #document = null
  /** @type {string | null} */
  #problem = null
  /** It runs while there is one. @type {Timer | undefined} */
  #timer
  /** @type {Timer | undefined} */
  #tail
  #first = 1
  #sent = 0
  #rate = 0
  #stopped = false

  /**
   * @param {Pick<import('../index.js').Inkcast, 'InkcastError'>} inkcast
   * @param {Pick<import('../index.js').Services, 'clock' | 'random'>} services
   * @param {object} api
   * @param {() => string} api.apiUrl
   * @param {string} [api.token]
   * @param {number} api.history records that a document's log keeps
   */
  constructor (inkcast, { clock, random }, api) {
    this.#inkcast = inkcast
    this.#clock = clock
    this.#api = api
    this.#run = random.bytes(6).toString('base64url')
    this.#allowed = Math.max(1, Math.floor(api.history / LOG_SECONDS))
  }

  /** @returns {PulseState} */
  get state () {
    return {
      run: this.#run,
      document: this.#document,
      running: this.#timer !== undefined,
      rate: this.#rate,
      first: this.#first,
      sent: this.#sent,
      open: [...this.#open],
      refused: [...this.#refused],
      problem: this.#problem
    }
  }

  /**
   * Publishes until it is released.
   * @param {Holder} holder
   * @param {string} guid
   * @throws {InkcastError} request_in_progress: records go to another document
   */
  hold (holder, guid) {
    if (this.#holders.size > 0 && guid !== this.#document)
      throw new this.#inkcast.InkcastError(
        'request_in_progress', `records are published to ${this.#document}: wait until that has ended`
      )
    this.#tail?.stop()
    this.#holders.add(holder)
    if (guid !== this.#document) this.#first = this.#sent + 1
    this.#document = guid
    this.#begin()
  }

  /** @param {Holder} holder */
  release (holder) {
    if (!this.#holders.delete(holder)) return
    if (this.#holders.size > 0) this.#begin()
    else this.#tail = this.#clock.timer(TAIL, () => this.#end())
  }

  stop () {
    this.#stopped = true
    this.#holders.clear()
    this.#tail?.stop()
    this.#end()
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  #begin () {
    const wanted = Math.min(this.#allowed, this.#holders.has('crowd') ? RATE_WITH_CROWD : RATE)
    if (this.#timer !== undefined && wanted === this.#rate) return
    this.#timer?.stop()
    this.#rate = wanted
    this.#timer = this.#clock.every(1000 / wanted, () => this.#tick())
  }

  #end () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  #tick () {
    if (this.#document === null || this.#open.size >= MAX_OPEN || this.#refused.length >= MAX_REFUSED) return
    this.#publish(this.#document, ++this.#sent).catch((error) => { this.#problem = error.message })
  }

  /** @param {string} guid @param {number} number */
  async #publish (guid, number) {
    const clock = this.#clock
    const deadline = clock.monotonic() + PATIENCE
    this.#open.add(number)
    const body = JSON.stringify({ run: this.#run, number, at: clock.now() })
    while (!this.#stopped) {
      let status = 0
      try {
        status = await this.#post(guid, number, body)
        this.#problem = status < 300 ? null : `the api answered ${status}`
      } catch (error) {
        this.#problem = /** @type {Error} */ (error).message
      }
      const final = status !== 429 && status >= 300 && status < 500
      if (status >= 200 && status < 300) break
      if (final || clock.monotonic() > deadline) {
        this.#refused.push(number)
        break
      }
      await clock.sleep(RETRY)
    }
    this.#open.delete(number)
  }

  /**
   * One request of the api.
   * @param {string} guid @param {number} number @param {string} body
   * @returns {Promise<number>} status
   */
  #post (guid, number, body) {
    const { apiUrl, token } = this.#api
    const url = new URL(`${apiUrl()}/v1/documents/${encodeURIComponent(guid)}/broadcast`)
    const secure = url.protocol === 'https:'
    return new Promise((resolve, reject) => {
      const req = (secure ? https : http).request(url, {
        method: 'POST',
        agent: this.#agents[secure ? 'https:' : 'http:'],
        timeout: TIMEOUT,
        // this machine's own api, whose certificate is often made for another name
        ...(secure ? { rejectUnauthorized: false } : {}),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-event': PULSE,
          'idempotency-key': `${this.#run}-${number}`,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
        }
      }, (res) => {
        res.resume()
        res.on('error', reject)
        res.on('end', () => resolve(res.statusCode ?? 0))
      })
      req.on('timeout', () => req.destroy(new Error('the api did not answer in time')))
      req.on('error', reject)
      req.end(body)
    })
  }
}
