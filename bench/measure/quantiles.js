/**
 * @typedef {object} Quantiles ms; null where there was nothing to measure
 * @property {number | null} p50
 * @property {number | null} p99
 * @property {number | null} max
 */

/**
 * @param {number[]} values
 * @returns {Quantiles} by nearest rank
 */
export function quantiles (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) => sorted.length === 0 ? null : round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)])
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** @param {number} value one digit after the point is more than the clock of a busy machine tells */
const round = (value) => Math.round(value * 10) / 10
