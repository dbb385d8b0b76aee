/**
 * @param {Buffer} body
 * @returns {Record<string, unknown>} {} if it is not a JSON object
 */
export function readObject (body) {
  try {
    const value = JSON.parse(body.toString())
    return value !== null && typeof value === 'object' ? value : {}
  } catch {
    return {}
  }
}
