import { nothingHere } from './answers.js'

/**
 * Requests of the demo page below `/control/`: faults, crowd and hops. In development only, from this machine only, and
 * changes only by JSON of the page's own origin, so that no page of another site can press a button.
 */

export const PREFIX = '/control/'

/**
 * @param {import('../index.js').Inkcast} inkcast
 * @param {object} dependencies
 * @param {import('./answers.js').Ask} dependencies.ask
 * @param {import('node:http').RequestListener} [dependencies.inspect] `GET /inspect?guid=…` (src/watch/inspect/feed.js)
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @returns {import('node:http').RequestListener}
 */
export function createControlRoutes (inkcast, { ask, inspect, log }) {
  const { InkcastError, answerError, answerJson, isId, isLocalRequest, readBody, targetOf } = inkcast

  /** @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
  async function answer (req, res) {
    const { method = 'GET' } = req
    const target = targetOf(req)
    if (target === null) throw new InkcastError('bad_request')
    const { path: pathname, query: searchParams } = target
    const isLocal = isLocalRequest(req)
    // not an error: the page shows the reason
    if (!isLocal && method === 'GET' && pathname === `${PREFIX}state`) {
      const { status, body } = nothingHere('elsewhere')
      return answerJson(res, status, body)
    }
    if (!isLocal)
      throw new InkcastError('forbidden', 'from this machine only: open the demo at localhost on the machine that runs it')
    if (pathname === `${PREFIX}hops` && inspect !== undefined) {
      const guid = searchParams.get('document')
      if (method !== 'GET') throw new InkcastError('method_not_allowed')
      if (!isId(guid)) throw new InkcastError('bad_request', 'document must be the id of a document')
      req.url = `/inspect?guid=${encodeURIComponent(guid)}`
      return inspect(req, res)
    }
    const path = pathname.slice(PREFIX.length - 1)
    let body
    if (method !== 'GET') {
      // a form or a simple request of another site cannot have this type
      if (!/^application\/json *(?:;|$)/i.test(req.headers['content-type'] ?? ''))
        throw new InkcastError('bad_content_type', 'the body must be application/json')
      body = await readBody(req)
    }
    const { status, body: value } = await ask({ method, path, ...(body && { body }) })
    answerJson(res, status, value)
  }

  return (req, res) => { answer(req, res).catch((error) => answerError(res, error, log)) }
}
