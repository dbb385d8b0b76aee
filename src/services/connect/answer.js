import { ERRORS, InkcastError } from '../../base/common/errors.js'
import { parse, object, string } from '../../base/common/schema.js'
import * as v from 'valibot'
import { WebhookError } from '../webhook/request.js'

/** Statuses of a refusal, with its code in the body. */
const REFUSALS = [401, 403]

/** @param {number} status @returns {boolean} whether the body of the answer is read */
export const isAnswer = (status) => status === 200 || REFUSALS.includes(status)

const refusal = object({
  code: v.pipe(string(), v.regex(/^[A-Za-z][\w.-]{0,63}$/)),
  message: v.optional(v.pipe(string(), v.maxCodePoints(256)))
})

/**
 * @param {import('../webhook/request.js').Answer} answer
 * @returns {Record<string, unknown>} of an identity, not checked yet
 * @throws {InkcastError} the refusal of the application
 * @throws {WebhookError} it is neither: the application, or a proxy before it, fails
 */
export function readAnswer ({ status, text, tooLarge = false }) {
  if (tooLarge) throw new WebhookError('the answer is too large')
  const given = objectOf(text)
  if (status === 200) {
    if (given === undefined) throw new WebhookError('the answer is not a JSON object')
    return given
  }
  // pages of proxies and frameworks have the same statuses
  const { value } = parse(refusal, given)
  if (value === undefined)
    throw new WebhookError(`HTTP ${status} without { "code": … }: check UPLINK_SECRETS, or give refusals a code`, { status })
  const { code, message = 'the application refuses the client' } = value
  if (Object.hasOwn(ERRORS, code))
    throw new InkcastError(/** @type {import('../../base/common/errors.js').ErrorCode} */ (code), message)
  throw new InkcastError('forbidden', message, { refusal: code })
}

/** @param {string} text @returns {Record<string, unknown> | undefined} */
function objectOf (text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
