/** Timeout of an answer, ms. */
const TIMEOUT = 10_000
const MAX_BYTES = 1_048_576

/**
 * Loads documents from the service of examples/document-service, which runs as a separate program.
 *
 * @param {Pick<import('../index.js').Inkcast, 'fetchJson'>} inkcast
 * @param {Readonly<Record<string, string>>} settings as an extension has them: the demo is no part of a server
 * @param {import('../../../src/base/common/wait.js').LimitClock} clock
 * @returns {import('./documents.js').LoadDocument} rejects when the service is unavailable
 */
export function createDocumentsOverHttp ({ fetchJson }, { EXTENSION_DEMO_DOCUMENTS_URL: url = 'http://localhost:4000' }, clock) {
  const base = url.replace(/\/+$/, '')
  return async (guid) => /** @type {import('./documents.js').LoadedDocument} */ (
    await fetchJson(`${base}/documents/${encodeURIComponent(guid)}`, { timeout: TIMEOUT, maxBytes: MAX_BYTES, clock }))
}
