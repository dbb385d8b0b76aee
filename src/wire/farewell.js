import { InkcastError } from '../base/common/errors.js'

/** Characters. */
const MAX_CODE = 64
/** Characters. */
const MAX_REASON = 256

/**
 * The message to clients when a service closes a document for them: the value of `close` and `leave`, JSON, or nothing.
 *
 * @typedef {{ code?: string, reason?: string }} Farewell
 *
 * @param {{ value: Buffer, contentType: string }} publication
 * @returns {Farewell}
 * @throws {InkcastError} bad_value
 */
export function readFarewell ({ value, contentType }) {
  if (value.length === 0) return {}
  const { code, reason, ...others } = contentType === 'application/json' ? parsed(value) : { '': 'msgpack' }
  if (!isText(code, MAX_CODE) || !isText(reason, MAX_REASON) || Object.keys(others).length > 0) {
    throw new InkcastError(
      'bad_value',
      `the value must be { "code": …, "reason": … }, both optional, of at most ${MAX_CODE} and ${MAX_REASON} characters`
    )
  }
  return { ...(code === undefined ? {} : { code }), ...(reason === undefined ? {} : { reason }) }
}

/** @param {Buffer} value @returns {Record<string, any>} with a field that is not allowed if it is not a JSON object */
function parsed (value) {
  try {
    const object = JSON.parse(value.toString())
    return object !== null && typeof object === 'object' && !Array.isArray(object) ? object : { '': 'not an object' }
  } catch {
    return { '': 'not JSON' }
  }
}

/** @param {unknown} text @param {number} max */
const isText = (text, max) => text === undefined || (typeof text === 'string' && text.length <= max)
