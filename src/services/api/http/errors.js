import { ERRORS, InkcastError, publicError } from '../../../base/common/errors.js'
import { canAnswer, endSocket, responseOf } from '../../../base/process/socket-times.js'

/**
 * Maps failures before a handler runs to inkcast's error table.
 * @param {unknown} error
 * @returns {unknown} the same, if it is not one of fastify's
 */
export function translateError (error) {
  if (error instanceof InkcastError || !(error instanceof Error)) return error
  const { code, statusCode } = /** @type {{ code?: string, statusCode?: number }} */ (error)
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new InkcastError('value_too_large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new InkcastError('bad_content_type', 'content-type must be application/json or application/msgpack')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new InkcastError('bad_request', 'the body is not as long as content-length says')
    case 'FST_ERR_BAD_URL':
      return new InkcastError('bad_request', 'the URL is not well formed')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new InkcastError('bad_target', 'an id in the URL is too long')
  }
  // A body that ended too early, or another error of the caller.
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? new InkcastError('bad_request') : error
}

/**
 * @param {unknown} error
 * @returns {{ status: number, body: { ok: false, error: ReturnType<typeof publicError> } }}
 */
export function errorAnswer (error) {
  const shown = publicError(error)
  return { status: ERRORS[shown.code].status, body: { ok: false, error: shown } }
}

/**
 * Answers input that is not HTTP, and requests that took too long to arrive.
 * @param {Error & { code?: string }} error
 * @param {import('node:net').Socket} socket
 * @param {import('../../../base/common/wait.js').Timers} clock
 * @param {number} linger time for the caller to close after that, ms
 * @returns {number | null} the status, null if the connection had ended
 */
export function answerBadHttp (error, socket, clock, linger) {
  if (!canAnswer(error, socket)) {
    socket.destroy()
    return null
  }
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const { status, body } = errorAnswer(
    new InkcastError('bad_request', late ? 'the request did not arrive in time' : 'the request is not well formed HTTP')
  )
  endSocket(socket, responseOf(status, JSON.stringify(body)), clock, linger)
  return status
}
