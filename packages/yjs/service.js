/**
 * A service that stores the snapshots, over HTTP:
 *
 * - `GET <url>` answers the document as one update, with the header `x-position: <epoch>:<offset>` of the last record
 *   in it; without the header, or with 404, there is none yet.
 * - `POST <url>` stores an update that is too large for a record.
 */

/** Header with the position of an answer. */
const POSITION = 'x-position'

/** An answer of the service other than 2xx. */
class ServiceError extends Error {
  /** @param {number} status */
  constructor (status) {
    super(`the service answered ${status}`)
    this.name = 'ServiceError'
    this.code = status === 413 ? 'value_too_large' : 'service_refused'
    this.status = status
    // 401: a new token may help, and `headers` is called again
    this.retryable = status === 401 || status === 408 || status === 429 || status >= 500
  }
}

/**
 * @typedef {object} Snapshot
 * @property {Uint8Array | null | undefined} update null: there is none yet
 * @property {import('inkcast-client').Position | null | undefined} position of the last record in it
 */

/**
 * @param {string | URL} url
 * @param {() => Record<string, string> | Promise<Record<string, string>>} headers
 */
export function createService (url, headers) {
  /** @param {RequestInit} request */
  const call = async (request) => fetch(url, { ...request, headers: await headers() })

  return {
    /**
     * @param {{ signal: AbortSignal }} options
     * @returns {Promise<Snapshot>}
     */
    async load ({ signal }) {
      const response = await call({ signal, cache: 'no-store' })
      if (response.status === 404) return { update: null, position: null }
      if (!response.ok) throw new ServiceError(response.status)
      const position = parsePosition(response.headers.get(POSITION))
      const update = new Uint8Array(await response.arrayBuffer())
      return { update: update.length === 0 ? null : update, position }
    },

    /**
     * @param {Uint8Array} update
     * @param {{ signal: AbortSignal }} options
     */
    async store (update, { signal }) {
      const body = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (update)], { type: 'application/octet-stream' })
      const response = await call({ method: 'POST', body, signal })
      if (!response.ok) throw new ServiceError(response.status)
    }
  }
}

/** @param {string | null} text */
function parsePosition (text) {
  const [, epoch, offset] = /^(.+):(\d+)$/.exec(text ?? '') ?? []
  return epoch === undefined ? null : { epoch, offset: Number(offset) }
}
