import { createClientFiles } from './client-files.js'
import { createControlRoutes, PREFIX } from './control/routes.js'
import { createDocsSite } from './docs-site.js'
import { createPageFiles } from './page-files.js'
import { createPageTokens } from './page-tokens.js'

// `connect-src` names the schemes because some browsers do not accept 'self' for a WebSocket to the same host
const POLICY =
  'default-src \'self\'; connect-src \'self\' ws: wss:; img-src \'self\' data:; base-uri \'none\'; form-action \'self\'; ' +
  'frame-ancestors \'none\''

/**
 * Serves the demo page at `/`, its client at `/client/`, its documents at `/documents/`, the docs at `/docs/`, and what
 * its buttons need at `/control/`; where clients need a token, one for the page at `/token`. In development only.
 *
 * @param {import('./index.js').Inkcast} inkcast
 * @param {object} options
 * @param {import('./index.js').Config} options.config
 * @param {(guid: string) => Promise<object>} options.loadDocument rejects when the document service is unavailable
 * @param {import('./control/answers.js').Ask} options.control faults and the crowd
 * @param {import('http').RequestListener} [options.inspect] the feed of the inspector
 * @param {import('../../src/base/common/log.js').Log} options.log
 * @returns {import('http').RequestListener}
 */
export function createDemo (inkcast, { config, loadDocument, control, inspect, log }) {
  const { api, auth, gateway: { host, socketPath } } = config
  const page = createPageFiles(inkcast, { log })
  const client = createClientFiles(inkcast)
  const docs = createDocsSite(inkcast)
  const controls = createControlRoutes(inkcast, { ask: control, inspect, log })
  const tokens = createPageTokens(inkcast, auth)
  const apiUrl = inkcast.apiUrl(api)
  const needsToken = inkcast.needsToken(api)

  /** @param {import('http').IncomingMessage} req */
  const settingsFor = ({ socket }) => ({
    apiUrl,
    needsToken,
    socketPath,
    tokenCommand: tokens.command,
    phoneUrls: inkcast.phoneUrls({ host, scheme: 'encrypted' in socket ? 'https' : 'http', port: socket.localPort })
  })

  /** @param {string} url @param {import('http').ServerResponse} res */
  async function answerDocument (url, res) {
    const guid = guidOf(url)
    if (!inkcast.isId(guid)) return json(res, 404, '{"error":"not_found"}')
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
    if (req.url?.startsWith('/client/')) return client(req, res, () => notFound(res))
    if (/^\/docs(?:[/?]|$)/.test(req.url ?? '')) return docs(req, res)
    if (req.url?.startsWith('/documents/')) return void answerDocument(req.url, res)
    if (req.url?.startsWith(PREFIX)) return controls(req, res)
    if (/^\/token(?:\?|$)/.test(req.url ?? '')) return json(res, 200, JSON.stringify(tokens.answer(req)))
    if (req.url === '/settings.json') return json(res, 200, JSON.stringify(settingsFor(req)))
    void page(req, res, settingsFor(req), () => notFound(res))
  }
}

/** @param {import('http').ServerResponse} res @param {number} status @param {string} body */
function json (res, status, body) {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body)
}

/** @param {import('http').ServerResponse} res */
function notFound (res) {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}

/** @param {string} url @returns {string | null} maybe no id */
function guidOf (url) {
  try {
    return decodeURIComponent(url.slice('/documents/'.length))
  } catch {
    return null
  }
}
