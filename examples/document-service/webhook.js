import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { decode as decodeMsgpack } from '@msgpack/msgpack'

/** Largest request, bytes: a batch of inkcast has 1 MB, or one larger event. */
const MAX_BYTES = 8 * 2 ** 20
/** Time by which the clocks of the two machines may differ, s. */
const TOLERANCE = 300

/**
 * Gets the messages of clients by POST: docs/webhooks.md. It answers when `receive` has resolved for a batch, so some
 * batches are repeated after a crash.
 *
 * @param {object} dependencies
 * @param {string} dependencies.host
 * @param {number} dependencies.port 0: any
 * @param {string} dependencies.secret one of UPLINK_SECRETS: `whsec_` and a key in base64
 * @param {(messages: import('./service.js').UplinkMessage[]) => Promise<void>} dependencies.receive
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createWebhook ({ host, port, secret, receive, log }) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length === 0) throw new Error('UPLINK_SECRETS is not set')
  const server = createServer((request, response) => {
    answer(request).then((status) => response.writeHead(status).end(), (error) => {
      log.error(`webhook: ${error.message}`)
      response.writeHead(503, { 'retry-after': '1' }).end()
    })
  })

  /** @param {import('node:http').IncomingMessage} request @returns {Promise<number>} status */
  async function answer (request) {
    if (request.method !== 'POST') return 405
    const chunks = []
    let bytes = 0
    for await (const chunk of request) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) return 413
      chunks.push(chunk)
    }
    const body = Buffer.concat(chunks)
    if (!isSigned(key, request.headers, body)) {
      log.error('webhook: a request with a wrong signature')
      return 401
    }
    await receive(JSON.parse(body.toString()).flatMap(toMessage))
    return 204
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
 * Standard Webhooks: in your product, a library for it does the same (docs/webhooks.md).
 * @param {Buffer} key
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {Buffer} body
 */
function isSigned (key, headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!(Math.abs(Number(timestamp) - Date.now() / 1000) <= TOLERANCE)) return false
  const right = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`)
  return String(signatures).split(' ').map((one) => Buffer.from(one))
    .some((one) => one.length === right.length && timingSafeEqual(one, right))
}

/**
 * @param {any} event
 * @returns {import('./service.js').UplinkMessage[]} empty if it is not a client's message about a document
 */
function toMessage ({ operator, guid, uid = '', sid = '', event = 'message', ...rest }) {
  if (operator !== 'message' || guid === undefined) return []
  const { traceid, time, source, sequence, data, data_base64: base64, queue, seq } = rest
  return [{
    guid,
    event,
    uid,
    sid,
    traceId: traceid,
    timestamp: Date.parse(time),
    value: base64 === undefined ? Buffer.from(JSON.stringify(data)) : Buffer.from(base64, 'base64'),
    decode: base64 === undefined ? (bytes) => JSON.parse(Buffer.from(bytes).toString()) : decodeMsgpack,
    origin: { source, sequence: Number(sequence) },
    ...(queue !== undefined && { queued: { source: `queue ${queue}`, sequence: seq } })
  }]
}
