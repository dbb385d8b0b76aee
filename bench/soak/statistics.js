/**
 * Growth of a figure over time: the slope of Theil and Sen, which is the median of the slopes between all pairs of
 * samples. Up to 29 % of the samples may be outliers (a fault that has just happened) without an effect on it.
 */

/**
 * @typedef {object} Point
 * @property {number} at
 * @property {number} value
 * @property {string} owner only points of the same owner are compared: a process that was replaced starts at another
 *   level
 *
 * @typedef {object} Growth percent of the median value, over the whole time
 * @property {number} growth
 * @property {number} low end of the interval with 95 % confidence
 * @property {number} high
 * @property {number} median of the values
 * @property {number} points
 */

/** Points of one owner; with fewer the interval means nothing. */
const LEAST = 4
/** Of the normal distribution, for 95 %. */
const DEVIATIONS = 1.96

/**
 * @param {Point[]} points
 * @returns {Growth | undefined} too few points
 */
export function growthOf (points) {
  /** @type {Map<string, Point[]>} */
  const owners = new Map()
  for (const point of points) owners.set(point.owner, [...owners.get(point.owner) ?? [], point])
  const groups = [...owners.values()].filter(({ length }) => length >= LEAST)
  if (groups.length === 0) return undefined
  const slopes = groups.flatMap(slopesOf).sort((a, b) => a - b)
  const used = groups.flat()
  const median = middle(used.map(({ value }) => value))
  const times = points.map(({ at }) => at)
  const scale = median === 0 ? 0 : 100 * (Math.max(...times) - Math.min(...times)) / median
  // variance of Kendall's statistic; the groups are independent
  const variance = groups.reduce((sum, { length: n }) => sum + n * (n - 1) * (2 * n + 5) / 18, 0)
  const beside = DEVIATIONS * Math.sqrt(variance)
  const at = (/** @type {number} */ rank) => slopes[Math.max(0, Math.min(slopes.length - 1, Math.round(rank)))]
  return {
    growth: middle(slopes) * scale,
    low: at((slopes.length - beside) / 2 - 1) * scale,
    high: at((slopes.length + beside) / 2) * scale,
    median,
    points: used.length
  }
}

/** @param {Point[]} points @returns {number[]} */
function slopesOf (points) {
  const slopes = []
  for (let i = 0; i < points.length; i++) {
    for (let j = i + 1; j < points.length; j++) {
      const time = points[j].at - points[i].at
      if (time !== 0) slopes.push((points[j].value - points[i].value) / time)
    }
  }
  return slopes
}

/** @param {number[]} values not empty @returns {number} */
export function middle (values) {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2
}
