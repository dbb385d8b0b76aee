/**
 * Figures over several samples.
 *
 * @typedef {import('./api.js').Sample} Sample
 */

/**
 * @param {Sample[]} samples
 * @param {string[]} keys of counts
 * @param {number} [ms] of the last samples; default: all of them
 * @returns {number}
 */
export function total (samples, keys, ms = Infinity) {
  const from = (samples.at(-1)?.at ?? 0) - ms
  let sum = 0
  for (const { at, values } of samples) if (at > from) for (const key of keys) sum += values[key] ?? 0
  return sum
}

/**
 * @param {Sample[]} samples
 * @param {string} stage
 * @param {'p50' | 'p99'} share
 * @param {number} ms
 * @returns {number | null} the highest of the samples of that time; null: none has records
 */
export function highest (samples, stage, share, ms) {
  const from = (samples.at(-1)?.at ?? 0) - ms
  const known = samples.flatMap(({ at, stages }) => {
    const value = stages[stage]?.[share]
    return at > from && value != null ? [value] : []
  })
  return known.length === 0 ? null : Math.max(...known)
}
