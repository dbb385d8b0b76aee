import { InkcastError } from '../../base/common/errors.js'

/**
 * Checks a presence state, and walks no more of it than its limit allows.
 *
 * @param {object} state
 * @param {number} maxBytes of JSON
 * @throws {InkcastError} state_too_large; bad_request for a state that is not a JSON value
 */
export function checkState (state, maxBytes) {
  let fits
  try {
    fits = remaining(state, maxBytes) >= 0 && Buffer.byteLength(JSON.stringify(state)) <= maxBytes
  } catch (error) {
    // binary, or nested deeper than the stack allows
    throw new InkcastError('bad_request', 'state must be a JSON value', { cause: error })
  }
  if (!fits) throw new InkcastError('state_too_large')
}

/**
 * A lower bound of a value's size, as the bytes left after it: characters that JSON escapes, or that take several bytes
 * in UTF-8, count as one.
 * @param {unknown} value
 * @param {number} bytes
 * @returns {number} below 0: it is too large, and the rest was not read
 * @throws {TypeError} for binary
 * @throws {RangeError} for values nested deeper than the stack allows
 */
function remaining (value, bytes) {
  if (typeof value === 'string') return bytes - value.length - 2
  if (typeof value !== 'object' || value === null) return bytes - 1
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw new TypeError('binary')
  bytes-- // the opening bracket; after each value comes a comma or the closing one
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && bytes >= 0; i++) bytes = remaining(value[i], bytes - 1)
    return bytes
  }
  for (const key of Object.keys(value)) {
    if (bytes < 0) break
    const inner = /** @type {Record<string, unknown>} */ (value)[key]
    // JSON omits undefined; each other field adds two quotes, a colon and a comma
    if (inner !== undefined) bytes = remaining(inner, bytes - key.length - 4)
  }
  return bytes
}
