import { fetchJson } from '../common/fetch-json.js'

/** For an answer, ms. */
const TIMEOUT = 10_000
const MAX_BYTES = 1_048_576

/**
 * Documents of the service in examples/document-service, where it runs as a program of its own.
 *
 * @param {{ url: string }} settings
 * @returns {import('./embedded-documents.js').LoadDocument} rejects when the service is not there
 */
export function createDocumentsOverHttp ({ url }) {
  const base = url.replace(/\/+$/, '')
  const { signal } = new AbortController()
  return async (guid) => /** @type {import('./embedded-documents.js').LoadedDocument} */ (
    await fetchJson(`${base}/documents/${encodeURIComponent(guid)}`, { timeout: TIMEOUT, maxBytes: MAX_BYTES, signal }))
}
