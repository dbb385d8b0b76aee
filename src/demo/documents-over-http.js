import { fetchJson } from '../common/fetch-json.js'

/** Timeout of an answer, ms. */
const TIMEOUT = 10_000
const MAX_BYTES = 1_048_576

/**
 * Loads documents from the service of examples/document-service, which runs as a separate program.
 *
 * @param {{ url: string }} settings
 * @returns {import('./embedded-documents.js').LoadDocument} rejects when the service is unavailable
 */
export function createDocumentsOverHttp ({ url }) {
  const base = url.replace(/\/+$/, '')
  const { signal } = new AbortController()
  return async (guid) => /** @type {import('./embedded-documents.js').LoadedDocument} */ (
    await fetchJson(`${base}/documents/${encodeURIComponent(guid)}`, { timeout: TIMEOUT, maxBytes: MAX_BYTES, signal }))
}
