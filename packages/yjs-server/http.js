import { createServer } from 'node:http'
import { verifyWebhook } from 'inkcast-publisher'
import { Refusal } from './errors.js'

/** Largest body of a request, and of all requests at a time, bytes. */
const MAX_BODY = 70 * 1024 * 1024
const MAX_BODIES = 2 * MAX_BODY
/** Larger than any guid of the gateway, bytes. */
const MAX_GUID = 256
const MAX_CONNECTIONS = 1000
const TIMES = { headersTimeout: 10_000, requestTimeout: 60_000 }

/**
 * The HTTP side. Only the gateway calls it, with a signature (docs/webhooks.md#signature):
 *
 * - `POST /events`: the gateway's UPLINK_URL.
 * - `POST /load` `{ guid, version?, from? }`: a document, in parts.
 *
 * `GET /metrics` and `GET /health` need none.
 */
export class Http {
  #parts
  #server
  #bodies = 0

  /**
   * @param {object} parts
   * @param {string} parts.secret
   * @param {import('./events.js').Events} parts.events
   * @param {import('./documents.js').Documents} parts.documents
   * @param {import('./snapshots.js').Snapshots} parts.snapshots
   * @param {import('./figures.js').Figures} parts.figures
   * @param {import('./log.js').Log} parts.log
   */
  constructor (parts) {
    this.#parts = parts
    this.#server = createServer(TIMES, (request, response) => {
      this.#answer(request, response).catch((error) => this.#fail(request, response, error))
    })
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  /** @param {string} host @param {number} port 0: any @returns {Promise<number>} the port */
  start (host, port) {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () =>
        resolve(/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port))
    })
  }

  /** Resolves when the requests in progress are answered. */
  stop () {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeIdleConnections()
    return closed
  }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async #answer (request, response) {
    const { figures } = this.#parts
    const route = `${request.method} ${request.url}`
    if (route === 'GET /health') return void response.end('ok')
    if (route === 'GET /metrics') return void response.setHeader('content-type', 'text/plain').end(`${figures}`)
    if (route !== 'POST /events' && route !== 'POST /load') throw new Refusal(404, 'there is nothing')
    const body = await this.#signed(request)
    if (route === 'POST /load') return this.#load(body, response)
    if (!Array.isArray(body)) throw new Refusal(400, 'it is no batch of events')
    const publish = await this.#parts.events.take(body)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ publish }))
  }

  /** @param {any} body @param {import('node:http').ServerResponse} response */
  async #load ({ guid, version, from }, response) {
    const { documents, figures, snapshots } = this.#parts
    if (typeof guid !== 'string' || Buffer.byteLength(guid) > MAX_GUID) throw new Refusal(400, 'it has no guid')
    if (typeof version !== 'string') figures.count('loads')
    const chunk = typeof version === 'string'
      ? snapshots.next(guid, version, Number(from))
      : snapshots.begin(guid, await documents.use(guid).read())
    if (chunk === null) throw new Refusal(410, 'this snapshot is gone')
    const { position } = chunk
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'x-version': chunk.version,
      'x-size': String(chunk.size),
      ...(position !== null && { 'x-position': `${position.epoch}:${position.offset}` })
    }).end(chunk.bytes)
  }

  /** @param {import('node:http').IncomingMessage} request @returns {Promise<any>} its body, if the gateway signed it */
  async #signed (request) {
    const chunks = []
    let length = 0
    try {
      for await (const chunk of request) {
        length += chunk.length
        this.#bodies += chunk.length
        if (length > MAX_BODY) throw new Refusal(413, 'the request is too large')
        if (this.#bodies > MAX_BODIES) {
          this.#parts.figures.count('busy')
          throw new Refusal(503, 'too many requests')
        }
        chunks.push(chunk)
      }
      return verifyWebhook(this.#parts.secret, request.headers, Buffer.concat(chunks))
    } catch (error) {
      const { code, message } = /** @type {any} */ (error)
      if (code === 'unauthorized') throw new Refusal(401, message, { cause: error })
      if (error instanceof SyntaxError) throw new Refusal(400, 'it is not JSON', { cause: error })
      throw error
    } finally {
      this.#bodies -= length
    }
  }

  /**
   * @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response
   * @param {any} error
   */
  #fail (request, response, error) {
    const { figures, log } = this.#parts
    const status = error instanceof Refusal ? error.status : 503
    if (!(error instanceof Refusal)) figures.count('failures')
    if (status !== 404 && status !== 410) log.error(`${request.method} ${request.url}: ${error.message}`)
    if (response.headersSent) return void response.destroy()
    response.writeHead(status, { connection: 'close', ...(status === 503 && { 'retry-after': '1' }) }).end(error.message)
  }
}
