/**
 * structuredClone, and what the client needs of it where it is missing (React Native, older browsers).
 * @template T
 * @param {T} value
 * @returns {T}
 */
export const clone = (value) => typeof structuredClone === 'function' ? structuredClone(value) : copy(value)

/** @param {any} value JSON, bytes, Dates, Maps @returns {any} */
function copy (value) {
  if (/^(function|symbol)$/.test(typeof value)) throw new TypeError(`a ${typeof value} cannot be cloned`)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy)
  if (value instanceof Date) return new Date(value)
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, copy(inner)]))
  if (value instanceof ArrayBuffer) return value.slice(0)
  if (ArrayBuffer.isView(value)) {
    const buffer = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)
    return new /** @type {any} */ (value.constructor)(buffer)
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]))
}
