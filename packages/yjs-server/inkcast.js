import { setMaxListeners } from 'node:events'
import { decode } from '@msgpack/msgpack'

/** Timeout of an answer, ms. */
const TIMEOUT = 15_000
/** Records per answer, the api's limit. */
const LIMIT = 1000

/** @typedef {{ epoch: string, offset: number }} Position */

/** An answer of the api that says no. */
export class ApiError extends Error {
  /** @param {number} status @param {{ code?: string }} [error] */
  constructor (status, { code = `status ${status}` } = {}) {
    super(`the api of inkcast answered ${code}`)
    this.status = status
    this.code = code
  }
}

/** The api of inkcast: docs/api.md. */
export class Inkcast {
  #url
  #token
  #signal

  /** @param {{ url: string, token: string | undefined, signal: AbortSignal }} settings signal: ends all waits */
  constructor ({ url, token, signal }) {
    this.#url = url.replace(/\/$/, '')
    this.#token = token
    this.#signal = signal
    setMaxListeners(0, signal) // one for each call
  }

  /** @param {string} guid @returns {Promise<Position | null>} end of the document's log; null: there is none */
  async position (guid) { return (await this.#call(guid, 'position')).position ?? null }

  /**
   * @param {string} guid
   * @param {Position | null} since null: the newest records
   * @returns {Promise<{ records: { offset: number, event: string, value: unknown }[], position: Position | null,
   *   gap: null | 'epoch' | 'trimmed' }>} position: end of the log; null: there is none
   */
  async history (guid, since) {
    const query = new URLSearchParams({
      limit: String(LIMIT), ...since && { epoch: since.epoch, offset: String(since.offset) }
    })
    const { records, position, gap } = await this.#call(guid, `history?${query}`)
    return {
      position,
      gap,
      records: records.map((/** @type {any} */ { offset, event, value, valueBase64 }) =>
        ({ offset, event, value: valueBase64 === undefined ? value : decode(Buffer.from(valueBase64, 'base64')) }))
    }
  }

  /** Publishes a record that no log keeps. @param {string} guid @param {string} event */
  notify (guid, event) {
    return this.#call(guid, 'broadcast', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-event': event, 'x-ephemeral': 'true' },
      body: 'null'
    })
  }

  /**
   * Removes records from the log, up to a position.
   * @param {string} guid @param {Position} position
   */
  async cut (guid, position) {
    try {
      await this.#call(guid, 'cut', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(position)
      })
    } catch (error) {
      // the log was lost or has expired meanwhile
      if (/** @type {ApiError} */ (error).code !== 'not_in_log') throw error
    }
  }

  /**
   * @param {string} guid @param {string} path
   * @param {{ method?: string, headers?: Record<string, string>, body?: string }} [request] @returns {Promise<any>}
   */
  async #call (guid, path, { headers, ...request } = {}) {
    // AbortSignal.timeout may be forgotten at a garbage collection of Node 20, AbortSignal.any leaves memory
    const until = new AbortController()
    const stop = () => until.abort(this.#signal.reason)
    const timer = setTimeout(() => until.abort(new Error('the api of inkcast did not answer in time')), TIMEOUT)
    if (this.#signal.aborted) stop()
    else this.#signal.addEventListener('abort', stop, { once: true })
    try {
      const response = await fetch(`${this.#url}/v1/documents/${encodeURIComponent(guid)}/${path}`, {
        ...request,
        headers: { ...headers, ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }) },
        signal: until.signal
      })
      const body = /** @type {any} */ (await response.json().catch(() => ({})))
      if (!response.ok) throw new ApiError(response.status, body.error)
      return body
    } catch (error) {
      const { message, cause } = /** @type {any} */ (error)
      if (message !== 'fetch failed') throw error
      throw new Error(`the api of inkcast at ${this.#url} cannot be reached: ${cause?.code}`, { cause: error })
    } finally {
      clearTimeout(timer)
      this.#signal.removeEventListener('abort', stop)
    }
  }
}
