import { InkcastError, publicError } from '../../base/common/errors.js'

/** Bodies are settings, a line long. */
const MAX_BODY = 4096

/**
 * @param {import('node:http').ServerResponse} res
 * @param {number} status
 * @param {object} value
 */
export function answerJson (res, status, value) {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(value))
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 * @param {import('../../base/common/log.js').Log} log
 */
export function answerError (res, error, log) {
  if (!(error instanceof InkcastError)) log.error({ err: error }, 'a request to ADMIN_PORT failed')
  if (res.headersSent) return void res.destroy()
  const status = error instanceof InkcastError ? error.status : 500
  if (status === 401) res.setHeader('www-authenticate', 'Bearer')
  answerJson(res, status, { ok: false, error: publicError(error) })
}

/**
 * @param {import('node:http').IncomingMessage} req
 * @returns {Promise<Record<string, unknown>>} the object of its body
 * @throws {InkcastError} bad_request, value_too_large
 */
export async function readBody (req) {
  let text = ''
  for await (const chunk of req.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_BODY) throw new InkcastError('value_too_large')
  }
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  throw new InkcastError('bad_request', 'the body must be a JSON object')
}

/**
 * Answers a path whose GET reads, and whose other methods control.
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {ReturnType<typeof import('./access.js').createAdminAccess>} checkRight
 * @param {Record<string, (req: import('node:http').IncomingMessage) => Promise<object>>} methods with GET; by name,
 *   what each answers
 */
export async function answerMethod (req, res, checkRight, methods) {
  const method = req.method === 'HEAD' ? 'GET' : String(req.method)
  if (!Object.hasOwn(methods, method)) {
    res.setHeader('allow', Object.keys(methods).join(', ').replace('GET', 'GET, HEAD'))
    throw new InkcastError('method_not_allowed')
  }
  checkRight(req, method === 'GET' ? 'read' : 'control')
  answerJson(res, 200, await methods[method](req))
}
