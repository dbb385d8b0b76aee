import { createServer } from 'node:http'

/** A request is short: a slow client does not hold its connection for long. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 10_000 }
const MAX_CONNECTIONS = 1000
/** Maximum length of a document's id: that of inkcast. */
const MAX_GUID = 256

/**
 * `GET /documents/:guid` answers `{ document, position }`: a page shows the document and opens it in inkcast from that
 * position, to get all later records. Changes that the page has already (their version is not higher) may be sent
 * again.
 *
 * @param {object} dependencies
 * @param {string} dependencies.host
 * @param {number} dependencies.port 0: any
 * @param {(guid: string) => Promise<import('./service.js').SheetDocument>} dependencies.read
 * @param {(guid: string) => Promise<{ epoch: string, offset: number } | null>} dependencies.position
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createHttp ({ host, port, read, position, log }) {
  const server = createServer(TIMES, (request, response) => {
    answer(request.method, request.url ?? '').then(({ status, body }) => {
      response
        .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        .end(JSON.stringify(body))
    }, (error) => {
      log.error(`GET ${request.url}: ${error.message}`)
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' }).end('{"error":"unavailable"}')
    })
  })

  /** @param {string | undefined} method @param {string} url */
  async function answer (method, url) {
    const guid = guidOf(url)
    if (method !== 'GET' || guid === undefined) return { status: 404, body: { error: 'not_found' } }
    // position first: a record between the two reads is in the document and sent again, rather than lost
    const at = await position(guid)
    return { status: 200, body: { document: await read(guid), position: at } }
  }

  server.maxConnections = MAX_CONNECTIONS

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

/** @param {string} url @returns {string | undefined} */
function guidOf (url) {
  try {
    const guid = decodeURIComponent(/^\/documents\/([^/?]+)$/.exec(url)?.[1] ?? '')
    return guid === '' || Buffer.byteLength(guid) > MAX_GUID ? undefined : guid
  } catch {
    return undefined
  }
}
