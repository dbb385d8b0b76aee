/** Numbers as people read them. */

/** @param {number | null | undefined} value @returns {string} */
export function short (value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  const size = Math.abs(value)
  if (size >= 1e9) return `${digits(value / 1e9)} G`
  if (size >= 1e6) return `${digits(value / 1e6)} M`
  if (size >= 1e4) return `${digits(value / 1e3)} k`
  return digits(value)
}

/** @param {number} value */
function digits (value) {
  const size = Math.abs(value)
  return value.toLocaleString('en', { maximumFractionDigits: size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2 })
}

/** @param {number} value @returns {string} */
export function bytes (value) {
  if (value >= 1e9) return `${digits(value / 1e9)} GB`
  if (value >= 1e6) return `${digits(value / 1e6)} MB`
  if (value >= 1e3) return `${digits(value / 1e3)} kB`
  return `${digits(value)} B`
}

/** @param {number} ms since 1970, 0: unknown @returns {string} time since then */
export function since (ms) {
  if (ms === 0) return '–'
  const seconds = Math.max(0, Math.round((Date.now() - ms) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** @param {number} at ms since 1970 @returns {string} time of day */
export const time = (at) => new Date(at).toLocaleTimeString('en-GB')
