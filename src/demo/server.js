import { fileURLToPath } from 'node:url'
import sirv from 'sirv'
import { isId } from '../wire/publication.js'
import { createClientFiles } from './client-files.js'
import { notFound } from '../engine/http.js'

// `connect-src` names the schemes because some browsers do not accept 'self' for a WebSocket to the same host
const POLICY =
  'default-src \'self\'; connect-src \'self\' ws: wss:; img-src \'self\' data:; base-uri \'none\'; form-action \'self\'; frame-ancestors \'none\''

/**
 * Serves the demo page at `/`, its client at `/client/`, and its documents at `/documents/`; in development only.
 *
 * @param {object} options
 * @param {string} options.apiUrl URL of the api, shown on the page
 * @param {boolean} options.needsToken whether the api needs a token
 * @param {(guid: string) => Promise<object>} options.loadDocument rejects when the document service is unavailable
 * @param {import('../common/log.js').Log} options.log
 * @returns {import('http').RequestListener}
 */
export function createDemo ({ apiUrl, needsToken, loadDocument, log }) {
  const page = sirv(fileURLToPath(new URL('./page/', import.meta.url)), { dev: true })
  const client = createClientFiles()
  const settings = JSON.stringify({ apiUrl, needsToken })

  /** @param {string} url @param {import('http').ServerResponse} res */
  async function answerDocument (url, res) {
    const guid = guidOf(url)
    if (guid === null) return json(res, 404, '{"error":"not_found"}')
    try {
      json(res, 200, JSON.stringify(await loadDocument(guid)))
    } catch (error) {
      log.debug({ err: error }, 'the document service does not respond')
      json(res, 503, '{"error":"unavailable"}')
    }
  }

  return (req, res) => {
    res.setHeader('content-security-policy', POLICY)
    res.setHeader('x-content-type-options', 'nosniff')
    if (req.url?.startsWith('/client/')) return client(req, res, () => notFound(req, res))
    if (req.url?.startsWith('/documents/')) return void answerDocument(req.url, res)
    if (req.url === '/settings.json') return json(res, 200, settings)
    page(req, res, () => notFound(req, res))
  }
}

/** @param {import('http').ServerResponse} res @param {number} status @param {string} body */
function json (res, status, body) {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body)
}

/** @param {string} url @returns {string | null} */
function guidOf (url) {
  try {
    const guid = decodeURIComponent(url.slice('/documents/'.length))
    return isId(guid) ? guid : null
  } catch {
    return null
  }
}
