/**
 * @typedef {object} Quantiles ms; null without values
 * @property {number | null} p50
 * @property {number | null} p99
 * @property {number | null} max
 */

/**
 * @param {ArrayLike<number>} values
 * @param {number} [digits] decimals; default 1: the clock of a busy machine is not more precise
 * @returns {Quantiles} by nearest rank
 */
export function quantiles (values, digits = 1) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) =>
    sorted.length === 0 ? null : round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)], digits)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** @param {number} value @param {number} digits decimals */
export const round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits
