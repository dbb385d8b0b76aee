import { decode } from '@msgpack/msgpack'

/** Timeout of an answer, ms. */
const TIMEOUT = 15_000
/** Records per answer, the api's limit. */
const LIMIT = 1000

/** @typedef {import('inkcast-client').Position} Position */
/** @typedef {{ info: (message: string) => void, error: (message: string) => void }} Log */

/** An answer of the api that says no. */
export class ApiError extends Error {
  /** @param {number} status @param {{ code?: string, retryable?: boolean }} [error] */
  constructor (status, { code = `status ${status}`, retryable = status >= 500 } = {}) {
    super(`inkcast: ${code}`)
    this.status = status
    this.code = code
    // a wrong token can be corrected: retry, so that nothing is lost
    this.retryable = retryable || status === 401
  }
}

/**
 * The api of inkcast: docs/api.md.
 *
 * @param {object} settings
 * @param {string} settings.url
 * @param {string | undefined} settings.token one of API_TOKENS
 * @param {AbortSignal} settings.signal ends all waits
 */
export function createInkcast ({ url, token, signal }) {
  /** @type {Record<string, string>} */
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  /** @param {string} guid @param {string} path @param {RequestInit & { headers?: Record<string, string> }} [request] */
  async function call (guid, path, { headers, ...request } = {}) {
    // not AbortSignal.timeout: inside AbortSignal.any, Node 20 forgets it at a garbage collection
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), TIMEOUT)
    try {
      const response = await fetch(`${url}/v1/documents/${encodeURIComponent(guid)}/${path}`, {
        ...request,
        headers: { ...headers, ...authorization },
        signal: AbortSignal.any([signal, late.signal])
      })
      const body = /** @type {any} */ (await response.json().catch(() => ({})))
      if (!response.ok) throw new ApiError(response.status, body.error)
      return body
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    /**
     * @param {string} guid
     * @returns {Promise<Position | null>} end of the document's log; null: there is none
     */
    position: async (guid) => (await call(guid, 'position')).position ?? null,

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
      const { records, position, gap } = await call(guid, `history?${query}`)
      return {
        position,
        gap,
        records: records.map((/** @type {any} */ { offset, event, value, valueBase64 }) =>
          ({ offset, event, value: valueBase64 === undefined ? value : decode(Buffer.from(valueBase64, 'base64')) }))
      }
    },

    /**
     * @param {string} guid
     * @param {object} record
     * @param {string} record.event
     * @param {string | Buffer} record.value
     * @param {string} [record.contentType]
     * @param {boolean} [record.isEphemeral] not kept in the log
     * @param {string} [record.key] the same one again publishes nothing
     */
    publish: (guid, { event, value, contentType = 'application/json', isEphemeral, key }) => call(guid, 'broadcast', {
      method: 'POST',
      headers: {
        'content-type': contentType,
        'x-event': event,
        ...(isEphemeral && { 'x-ephemeral': 'true' }),
        ...(key !== undefined && { 'idempotency-key': key })
      },
      body: typeof value === 'string' ? value : new Uint8Array(value)
    }),

    /**
     * Removes records from the log that the stored snapshot contains.
     * @param {string} guid
     * @param {Position} position of the last one
     */
    cut: (guid, position) => call(guid, 'cut', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(position)
    })
  }
}
