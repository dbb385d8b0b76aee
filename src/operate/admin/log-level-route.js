import { InkcastError } from '../../base/common/errors.js'
import { answerJson, readBody } from './answers.js'

/**
 * `GET /loglevel`: the level of each process. `PUT /loglevel` with `{ "level": "debug", "process": "gateway-0" }`
 * changes it, without `process` for all.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {object} dependencies
 * @param {import('./log-levels.js').LogLevels} dependencies.logLevels
 * @param {ReturnType<typeof import('./access.js').createAdminAccess>} dependencies.checkRight
 */
export async function answerLogLevel (req, res, { logLevels, checkRight }) {
  if (req.method === 'GET' || req.method === 'HEAD') {
    checkRight(req, 'read')
    answerJson(res, 200, { processes: await logLevels.read() })
  } else if (req.method === 'PUT') {
    checkRight(req, 'control')
    const { level, process } = await readBody(req)
    answerJson(res, 200, { ok: true, processes: await logLevels.set(level, process) })
  } else {
    res.setHeader('allow', 'GET, HEAD, PUT')
    throw new InkcastError('method_not_allowed')
  }
}
