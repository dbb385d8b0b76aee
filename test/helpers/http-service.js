import { createServer } from 'node:http'

/** @typedef {{ status?: number, body: string, headers?: Record<string, string> }} Answer */

/**
 * A service with scripted responses that records its requests.
 *
 * @param {import('node:test').TestContext} t closes it
 * @param {(request: { method: string, url: string, body: string }) => Answer | Promise<Answer>} answer
 * @returns {Promise<{ url: string, bodies: string[], readonly requests: number }>}
 */
export async function httpService (t, answer) {
  /** @type {string[]} */
  const bodies = []
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    const {
      status = 200,
      body: text,
      headers
    } = await answer({ method: request.method ?? '', url: request.url ?? '', body })
    response.writeHead(status, headers).end(text)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}/`, bodies, get requests () { return bodies.length } }
}
