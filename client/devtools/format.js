/** @param {number} at ms since 1970 @returns {string} time of day with milliseconds */
export function clockTime (at) {
  const date = new Date(at)
  const digits = (/** @type {number} */ number, length = 2) => String(number).padStart(length, '0')
  return `${digits(date.getHours())}:${digits(date.getMinutes())}:${digits(date.getSeconds())}.${
    digits(date.getMilliseconds(), 3)}`
}

/** @param {number} ms @returns {string} */
export function duration (ms) {
  const seconds = ms / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 100) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

/** @param {number} perSecond @returns {string} */
export const rate = (perSecond) => `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`

/** @param {number} number @param {string} one @param {string} [many] @returns {string} */
export const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`

/** @param {import('../common/log.js').LogEntry['detail']} detail of a log entry @returns {string} */
export function detailText (detail) {
  if (detail === undefined) return ''
  if (typeof detail !== 'object') return String(detail)
  return Object.entries(detail).map(([name, value]) => `${name} ${isPlain(value) ? value : JSON.stringify(value)}`).join(', ')
}

/** @param {unknown} value */
const isPlain = (value) => value === null || typeof value !== 'object'
