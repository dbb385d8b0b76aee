import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

/** Maximum update of a page, bytes. */
const MAX_BODY = 8 * 1024 * 1024
/** Maximum length of a document's id. */
const MAX_GUID = 256
/** An update of 8 MB over a slow line takes its time; its head does not. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 60_000 }
const MAX_CONNECTIONS = 1000
/** Pages of other origins may load documents: in your product only yours. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'content-type, authorization',
  'access-control-expose-headers': 'x-position'
}
const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css'
})

/**
 * The HTTP side, as inkcast-yjs uses it. Your product checks here who may read and write.
 *
 * - `GET /documents/:guid` answers the document, with `x-position: <epoch>:<offset>`.
 * - `POST /documents/:guid` adds an update that is too large for a record.
 * - `GET /…` answers the files of the page.
 *
 * @param {object} dependencies
 * @param {string} dependencies.host
 * @param {number} dependencies.port 0: any
 * @param {string} dependencies.page folder
 * @param {Pick<ReturnType<typeof import('./documents.js').createDocuments>, 'read' | 'add'>} dependencies.documents
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createHttp ({ host, port, page, documents, log }) {
  const server = createServer(TIMES, (request, response) => {
    answer(request, response).catch((error) => {
      log.error(`${request.method} ${request.url}: ${error.message}`)
      if (response.headersSent) return void response.destroy()
      send(response, error.status ?? 503, { 'retry-after': '1' })
    })
  })

  server.maxConnections = MAX_CONNECTIONS

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async function answer (request, response) {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const [, encoded] = /^\/documents\/([^/]+)$/.exec(pathname) ?? []
    if (encoded === undefined) return file(pathname, response)
    const guid = decodeURIComponent(encoded)
    if (guid.length > MAX_GUID) return send(response, 404)
    if (request.method === 'OPTIONS') return send(response, 204)
    if (request.method === 'POST') {
      await documents.add(guid, await bodyOf(request))
      return send(response, 204)
    }
    if (request.method !== 'GET') return send(response, 405)
    const { update, position } = await documents.read(guid)
    send(response, 200, {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      ...(position !== null && { 'x-position': `${position.epoch}:${position.offset}` })
    }, update)
  }

  /** @param {string} pathname @param {import('node:http').ServerResponse} response */
  async function file (pathname, response) {
    // URL has removed `..` already
    const path = join(page, normalize(pathname === '/' ? '/index.html' : pathname))
    const found = await stat(path).catch(() => null)
    if (found === null || !found.isFile()) return send(response, 404)
    response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' })
    createReadStream(path).pipe(response)
  }

  return {
    /** @returns {Promise<number>} the port */
    start: () => new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => resolve(/** @type {import('node:net').AddressInfo} */ (server.address()).port))
    }),
    stop () {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
  }
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {Record<string, string>} [headers]
 * @param {Uint8Array} [body]
 */
function send (response, status, headers, body) {
  response.writeHead(status, { ...CORS, ...headers }).end(body)
}

/** @param {import('node:http').IncomingMessage} request */
async function bodyOf (request) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BODY) throw Object.assign(new Error('the update is too large'), { status: 413 })
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}
