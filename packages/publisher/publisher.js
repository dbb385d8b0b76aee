import { randomUUID } from 'node:crypto'
import { sendBatch } from './batch.js'
import { InkcastError } from './errors.js'
import { systemTime, tryOnce, withRetries } from './request.js'

/**
 * @typedef {{ epoch: string, offset: number }} Position
 * @typedef {{ ok: true, traceId: string, position?: Position }} Published
 * @typedef {{ ok: true, traceId: string, connections: number, workers: number }} Done connections that were concerned,
 *   and their workers
 *
 * @typedef {object} PublisherOptions
 * @property {string} url of the api, such as `http://localhost:3001`
 * @property {string | (() => string | Promise<string>) | undefined} [token] of this caller; a function is called for
 *   each try
 * @property {number | undefined} [deadlineMs] for all tries of a request together; default 30 s. 0: one try
 * @property {number | undefined} [timeoutMs] for one try; default 15 s
 * @property {typeof fetch | undefined} [fetch] for instance with a proxy or a client certificate
 *
 * @typedef {object} RequestOptions
 * @property {string | undefined} [idempotencyKey] default: a random one, which all tries of this call share
 * @property {string | undefined} [traceId]
 * @property {string | undefined} [traceparent]
 * @property {number | undefined} [timestamp] ms since 1970
 * @property {number | undefined} [deadlineMs]
 * @property {AbortSignal | undefined} [signal]
 *
 * @typedef {object} SendFields
 * @property {string | undefined} [event] default `message`
 * @property {readonly string[] | undefined} [except] clients that do not get the record
 * @property {boolean | undefined} [receipt]
 *
 * @typedef {RequestOptions & SendFields} SendOptions
 * @typedef {SendOptions & { ephemeral?: boolean | undefined, key?: string | undefined }} DocumentOptions
 * @typedef {SendOptions & { keep?: boolean | undefined, key?: string | undefined }} UserOptions
 * @typedef {{ uid?: string | undefined }} OfUser whose device it is; default: a device without a token
 */

/** Options by header. */
const HEADERS = /** @type {const} */ ({
  uid: 'x-uid', event: 'x-event', except: 'x-except', receipt: 'x-receipt', ephemeral: 'x-ephemeral', keep: 'x-keep',
  key: 'x-key', ttl: 'x-ttl', traceId: 'x-trace-id', traceparent: 'traceparent', timestamp: 'x-timestamp'
})
const DEADLINE = 30_000
const TIMEOUT = 15_000

/** Publishes over the HTTP api of inkcast. */
export class Publisher {
  #url
  #token
  #fetch
  #limits
  #time

  /**
   * @param {PublisherOptions} options
   * @param {import('./request.js').Time} [time] for tests
   */
  constructor ({ url, token, deadlineMs = DEADLINE, timeoutMs = TIMEOUT, fetch: send = fetch }, time = systemTime) {
    this.#url = new URL(url).href.replace(/\/$/, '')
    this.#token = token
    this.#limits = { deadlineMs, timeoutMs }
    this.#fetch = send
    this.#time = time
  }

  /**
   * Publishes to everyone who has the document open.
   * @param {string} guid @param {unknown} value JSON, or a Uint8Array of msgpack @param {DocumentOptions} [options]
   * @returns {Promise<Published>}
   */
  publish (guid, value, options = {}) { return this.#post(['documents', guid, 'broadcast'], value, options) }

  /**
   * Publishes to every connection of a user; with `keep` also into the log of the user.
   * @param {string} uid @param {unknown} value @param {UserOptions} [options] @returns {Promise<Published>}
   */
  publishToUser (uid, value, options = {}) { return this.#post(['users', uid, 'send'], value, options) }

  /**
   * Publishes to one device; with `keep` also into the log of its user.
   * @param {string} device @param {unknown} value @param {UserOptions & OfUser} [options] @returns {Promise<Published>}
   */
  publishToDevice (device, value, options = {}) { return this.#post(['devices', device, 'send'], value, options) }

  /**
   * Publishes to one connection.
   * @param {string} sid @param {unknown} value @param {SendOptions} [options] @returns {Promise<Published>}
   */
  publishToConnection (sid, value, options = {}) { return this.#post(['sockets', sid, 'send'], value, options) }

  /**
   * Publishes to every connection.
   * @param {unknown} value @param {SendOptions} [options] @returns {Promise<Published>}
   */
  publishToEveryone (value, options = {}) { return this.#post(['broadcast'], value, options) }

  /**
   * Publishes up to 1,000 publications. Those that failed for the moment are sent again, with the same keys.
   * @param {readonly import('./batch.js').Publication[]} publications
   * @param {{ deadlineMs?: number | undefined, signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<import('./batch.js').Result[]>} one for each, in their order
   */
  batch (publications, options = {}) {
    const limits = this.#limitsOf(options)
    const send = (/** @type {object[]} */ entries, /** @type {number} */ ms) => this.#try('POST', '/v1/publish', {
      'content-type': 'application/json'
    }, JSON.stringify({ publications: entries }), ms, options.signal)
    return sendBatch(publications, send, (attempt) => withRetries(attempt, limits, this.#time))
  }

  /** Disconnects a user everywhere. @param {string} uid @param {RequestOptions} [options] @returns {Promise<Done>} */
  kick (uid, options = {}) { return this.#order('DELETE', ['users', uid, 'connections'], options) }

  /**
   * Disconnects a user, and refuses every handshake for `ttl` seconds.
   * @param {string} uid @param {number} ttl s @param {RequestOptions} [options] @returns {Promise<Done>}
   */
  ban (uid, ttl, options = {}) { return this.#order('DELETE', ['users', uid, 'connections'], { ...options, ttl }) }

  /** Ends a ban. @param {string} uid @param {RequestOptions} [options] @returns {Promise<Done>} */
  unban (uid, options = {}) { return this.#order('POST', ['users', uid, 'restore'], options) }

  /**
   * Disconnects one device.
   * @param {string} device @param {RequestOptions & OfUser} [options] @returns {Promise<Done>}
   */
  kickDevice (device, options = {}) { return this.#order('DELETE', ['devices', device], options) }

  /** Disconnects one connection. @param {string} sid @param {RequestOptions} [options] @returns {Promise<Done>} */
  kickConnection (sid, options = {}) { return this.#order('DELETE', ['sockets', sid], options) }

  /**
   * Makes a user leave a document; older tokens do not open it again. With `ttl` (seconds) no token does for that time.
   * @param {string} guid @param {string} uid @param {RequestOptions & { ttl?: number | undefined }} [options]
   * @returns {Promise<Done>}
   */
  revoke (guid, uid, options = {}) { return this.#order('POST', ['documents', guid, 'revoke'], options, { uid }) }

  /**
   * Takes a revoke back.
   * @param {string} guid @param {string} uid @param {RequestOptions} [options] @returns {Promise<Done>}
   */
  restore (guid, uid, options = {}) { return this.#order('POST', ['documents', guid, 'restore'], options, { uid }) }

  /**
   * Closes a document: everyone leaves it. Clients get `code` and `reason`.
   * @param {string} guid @param {RequestOptions & { code?: string | undefined, reason?: string | undefined }} [options]
   * @returns {Promise<Done>}
   */
  close (guid, options = {}) { return this.#order('DELETE', ['documents', guid, 'connections'], options) }

  /**
   * Opens a document on the connections of a user, if the user may read it.
   * @param {string} uid @param {string} guid @param {RequestOptions} [options] @returns {Promise<Done>}
   */
  join (uid, guid, options = {}) { return this.#order('POST', ['users', uid, 'documents', guid], options) }

  /**
   * Makes the connections of a user leave a document. They get `code` and `reason`.
   * @param {string} uid @param {string} guid
   * @param {RequestOptions & { code?: string | undefined, reason?: string | undefined }} [options]
   * @returns {Promise<Done>}
   */
  leave (uid, guid, options = {}) { return this.#order('DELETE', ['users', uid, 'documents', guid], options) }

  /** @param {string[]} path @param {unknown} value @param {DocumentOptions & UserOptions} options */
  #post (path, value, options) {
    const packed = value instanceof Uint8Array
    const body = packed ? value : JSON.stringify(value)
    if (body === undefined) return Promise.reject(new InkcastError('bad_value', 'the value is not JSON'))
    return this.#request('POST', pathOf(path), options, packed ? 'application/msgpack' : 'application/json', body)
  }

  /**
   * @param {string} method @param {string[]} path
   * @param {RequestOptions & { ttl?: number, code?: string | undefined, reason?: string | undefined }} options
   * @param {object} [body]
   */
  #order (method, path, { code, reason, ...options }, body) {
    const query = new URLSearchParams(Object.entries({ code, reason })
      .flatMap(([name, value]) => value === undefined ? [] : [[name, value]]))
    const target = pathOf(path) + (query.size > 0 ? `?${query}` : '')
    return this.#request(method, target, options, body && 'application/json', body && JSON.stringify(body))
  }

  /**
   * @param {string} method @param {string} target
   * @param {RequestOptions & Record<string, unknown>} options
   * @param {string} [type] @param {string | Uint8Array} [body]
   */
  #request (method, target, { idempotencyKey = randomUUID(), deadlineMs, signal, ...fields }, type, body) {
    /** @type {Record<string, string>} */
    const headers = { 'idempotency-key': `"${idempotencyKey}"`, ...(type !== undefined && { 'content-type': type }) }
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue
      const header = HEADERS[/** @type {keyof typeof HEADERS} */ (name)]
      if (header === undefined) return Promise.reject(new InkcastError('bad_request', `there is no option ${name}`))
      headers[header] = Buffer.from(String(value)).toString('latin1') // the bytes of its UTF-8
    }
    const attempt = (/** @type {number} */ ms) => this.#try(method, target, headers, body, ms, signal)
    return withRetries(attempt, this.#limitsOf({ deadlineMs, signal }), this.#time)
  }

  /** @param {{ deadlineMs?: number | undefined, signal?: AbortSignal | undefined }} options */
  #limitsOf ({ deadlineMs = this.#limits.deadlineMs, signal }) {
    return { deadlineMs, timeoutMs: this.#limits.timeoutMs, signal }
  }

  /**
   * @param {string} method @param {string} target @param {Record<string, string>} headers
   * @param {string | Uint8Array | undefined} body @param {number} timeoutMs @param {AbortSignal} [signal]
   */
  async #try (method, target, headers, body, timeoutMs, signal) {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token
    const sent = {
      method, url: this.#url + target, body,
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    }
    return tryOnce(this.#fetch, sent, this.#time, timeoutMs, signal)
  }
}

/** @param {string[]} parts */
const pathOf = (parts) => `/v1/${parts.map(encodeURIComponent).join('/')}`
