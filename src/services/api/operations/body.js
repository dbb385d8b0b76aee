/** The fields of such a body are short, bytes. */
const MAX_BYTES = 64 * 1024

/**
 * @param {Buffer} body
 * @returns {Record<string, unknown>} {} if it is not a JSON object, or too long
 */
export function readObject (body) {
  if (body.length > MAX_BYTES) return {}
  try {
    const value = JSON.parse(body.toString())
    return value !== null && typeof value === 'object' ? value : {}
  } catch {
    return {}
  }
}
