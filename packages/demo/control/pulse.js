import http from 'node:http'
import https from 'node:https'

/**
 * Numbered records that are published to a document through the api, as a business service would: repeated with the
 * same idempotency key until they are acknowledged. A page can compare what arrives with what was acknowledged.
 *
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
 * @param {Pick<import('../index.js').Inkcast, 'InkcastError'>} inkcast
 * @param {object} dependencies
 * @param {() => string} dependencies.apiUrl
 * @param {string} [dependencies.token] of the api
 * @param {number} dependencies.history records that a document's log keeps
 * @param {import('../../../src/base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../../src/base/common/random.js').Random, 'bytes'>} dependencies.random
 */
export function createPulse ({ InkcastError }, { apiUrl, token, history, clock, random }) {
  const run = random.bytes(6).toString('base64url')
  const allowed = Math.max(1, Math.floor(history / LOG_SECONDS))
  const agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  /** Why it runs. @type {Set<Holder>} */
  const holders = new Set()
  /** @type {Set<number>} */
  const open = new Set()
  /** @type {number[]} */
  const refused = []
  /** @type {string | null} */
  let document = null
  /** @type {string | null} */
  let problem = null
  /** @type {import('../../../src/base/common/clock.js').Timer | undefined} */
  let timer
  /** @type {import('../../../src/base/common/clock.js').Timer | undefined} */
  let tail
  let first = 1
  let sent = 0
  let rate = 0
  let stopped = false

  /**
   * One request of the api.
   * @param {string} guid @param {number} number @param {string} body
   * @returns {Promise<number>} status
   */
  function post (guid, number, body) {
    const url = new URL(`${apiUrl()}/v1/documents/${encodeURIComponent(guid)}/broadcast`)
    const secure = url.protocol === 'https:'
    return new Promise((resolve, reject) => {
      const req = (secure ? https : http).request(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        timeout: TIMEOUT,
        // this machine's own api, whose certificate is often made for another name
        ...(secure ? { rejectUnauthorized: false } : {}),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-event': PULSE,
          'idempotency-key': `${run}-${number}`,
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

  /** @param {string} guid @param {number} number */
  async function publish (guid, number) {
    const deadline = clock.monotonic() + PATIENCE
    open.add(number)
    const body = JSON.stringify({ run, number, at: clock.now() })
    while (!stopped) {
      let status = 0
      try {
        status = await post(guid, number, body)
        problem = status < 300 ? null : `the api answered ${status}`
      } catch (error) {
        problem = /** @type {Error} */ (error).message
      }
      const final = status !== 429 && status >= 300 && status < 500
      if (status >= 200 && status < 300) break
      if (final || clock.monotonic() > deadline) {
        refused.push(number)
        break
      }
      await clock.sleep(RETRY)
    }
    open.delete(number)
  }

  function tick () {
    if (document === null || open.size >= MAX_OPEN || refused.length >= MAX_REFUSED) return
    publish(document, ++sent).catch((error) => { problem = error.message })
  }

  function begin () {
    const wanted = Math.min(allowed, holders.has('crowd') ? RATE_WITH_CROWD : RATE)
    if (timer !== undefined && wanted === rate) return
    timer?.stop()
    rate = wanted
    timer = clock.every(1000 / rate, tick)
  }

  function end () {
    timer?.stop()
    timer = undefined
  }

  return {
    /** @returns {PulseState} */
    get state () {
      return {
        run, document, running: timer !== undefined, rate, first, sent, open: [...open], refused: [...refused], problem
      }
    },

    /**
     * Publishes until it is released.
     * @param {Holder} holder
     * @param {string} guid
     * @throws {InkcastError} request_in_progress: records go to another document
     */
    hold (holder, guid) {
      if (holders.size > 0 && guid !== document)
        throw new InkcastError('request_in_progress', `records are published to ${document}: wait until that has ended`)
      tail?.stop()
      holders.add(holder)
      if (guid !== document) first = sent + 1
      document = guid
      begin()
    },

    /** @param {Holder} holder */
    release (holder) {
      if (!holders.delete(holder)) return
      if (holders.size > 0) begin()
      else tail = clock.timer(TAIL, end)
    },

    stop () {
      stopped = true
      holders.clear()
      tail?.stop()
      end()
      for (const agent of Object.values(agents)) agent.destroy()
    }
  }
}
