/**
 * `GET /health` on the port of the clients, for balancers that can ask no other port: 200 if this worker takes
 * connections, otherwise 503. Everyone may ask, so the answer has no reason; `/ready` on ADMIN_PORT has.
 */
const PATH = '/health'

/** @param {import('node:http').IncomingMessage} req */
export const isHealth = ({ url, method }) =>
  (method === 'GET' || method === 'HEAD') && (url === PATH || url?.startsWith(`${PATH}?`) === true)

/**
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {boolean} ready
 */
export function answerHealth ({ method }, res, ready) {
  const body = ready ? 'ok\n' : 'not ready\n'
  res.writeHead(ready ? 200 : 503, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store'
  })
  res.end(method === 'HEAD' ? undefined : body)
}
