import { once } from 'node:events'
import http from 'node:http'

/**
 * @typedef {{ method: string, path: string, query: string[], headers: Record<string, string>, body: string }} Request
 */

/**
 * An api in place of inkcast, which keeps what it is asked.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {(request: Request, res: http.ServerResponse, index: number) => unknown} [answer] default: 202
 * @returns {Promise<{ url: string, requests: Request[] }>}
 */
export async function startRecordingApi (t, answer = accept) {
  /** @type {Request[]} */
  const requests = []
  const server = http.createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://x')
    const request = {
      method: req.method ?? '', path: pathname, query: [...searchParams.keys()],
      headers: /** @type {Record<string, string>} */ (req.headers), body
    }
    await answer(request, res, requests.push(request) - 1)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}`, requests }
}

/** @param {Request} request @param {http.ServerResponse} res */
function accept ({ path, body }, res) {
  const results = path === '/v1/publish' ? JSON.parse(body).publications.map(() => ({ ok: true, traceId: 't' })) : undefined
  res.end(JSON.stringify({ ok: true, traceId: 't', connections: 0, workers: 0, results }))
}

/** Of HTTP itself. */
const PLAIN = /^(host|connection|content-(type|length)|transfer-encoding|authorization|user-agent|accept.*|sec-fetch-mode)$/

/**
 * @param {Request[]} requests
 * @param {any} openapi
 * @returns {{ wrong: string[], operations: string[] }} what the description of the api does not have, and the
 *   operations that were called
 */
export function compareWithOpenapi (requests, openapi) {
  /** @type {string[]} */
  const wrong = []
  /** @type {Set<string>} */
  const operations = new Set()
  for (const { method, path, query, headers, body } of requests) {
    const [, operation] = Object.entries(openapi.paths)
      .filter(([template]) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
      .flatMap(([, methods]) => Object.entries(/** @type {any} */ (methods)))
      .find(([name]) => name === method.toLowerCase()) ?? []
    if (operation === undefined) {
      wrong.push(`${method} ${path}`)
      continue
    }
    const { operationId, parameters = [], requestBody } = /** @type {any} */ (operation)
    operations.add(operationId)
    const known = (/** @type {string} */ place, /** @type {string} */ name) =>
      parameters.some((/** @type {any} */ one) => one.in === place && one.name === name)
    for (const name of query) if (!known('query', name)) wrong.push(`${operationId}: query ${name}`)
    for (const name of Object.keys(headers))
      if (!PLAIN.test(name) && !known('header', name)) wrong.push(`${operationId}: header ${name}`)
    if (body === '') continue
    const type = headers['content-type']
    const schema = requestBody?.content[type]?.schema
    if (schema === undefined) wrong.push(`${operationId}: body of ${type}`)
    else if (schema.properties) wrong.push(...unknownFields(JSON.parse(body), schema).map((name) => `${operationId}: field ${name}`))
  }
  return { wrong, operations: [...operations].sort() }
}

/** @param {any} value @param {any} schema @returns {string[]} */
const unknownFields = (value, schema) => Object.entries(value).flatMap(([name, content]) => {
  const field = schema.properties[name]
  if (field === undefined) return [name]
  return field.items?.properties ? /** @type {any[]} */ (content).flatMap((one) => unknownFields(one, field.items)) : []
})
