import { once } from 'node:events'
import http from 'node:http'
import { Webhook } from 'standardwebhooks'

/** Of the services in tests. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/**
 * A business service that gets events by POST, and checks their signature with a library of Standard Webhooks.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} [options]
 * @param {string} [options.secret]
 * @param {(events: any[], id: string) => { status?: number, headers?: Record<string, string>, body?: unknown } | void |
 *   Promise<any>} [options.answer] default: 204
 * @param {number} [options.port]
 */
export async function startWebhookService (t, { secret = SECRET, answer = () => {}, port = 0 } = {}) {
  const webhook = new Webhook(secret)
  /** @type {any[]} accepted, in the order of arrival */
  const events = []
  /** @type {{ id: string, status: number, events: any[] }[]} */
  const requests = []
  /** @type {string[]} */
  const wrong = []
  /** Requests as they came. @type {{ headers: http.IncomingHttpHeaders, body: Buffer }[]} */
  const raw = []
  const server = http.createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    raw.push({ headers: req.headers, body: bytes })
    const body = bytes.toString()
    try {
      webhook.verify(body, /** @type {Record<string, string>} */ (req.headers))
    } catch (error) {
      wrong.push(String(error))
      return void res.writeHead(401).end()
    }
    const batch = JSON.parse(body)
    const id = String(req.headers['webhook-id'])
    const given = await answer(batch, id) ?? {}
    const status = given.status ?? (given.body === undefined ? 204 : 200)
    requests.push({ id, status, events: batch })
    if (status < 300) events.push(...batch)
    res.writeHead(status, { 'content-type': 'application/json', ...given.headers })
    res.end(given.body === undefined ? undefined : JSON.stringify(given.body))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  t.after(stop)
  const own = /** @type {import('net').AddressInfo} */ (server.address()).port
  return { url: `http://127.0.0.1:${own}/events`, port: own, events, requests, raw, wrong, stop }
}
