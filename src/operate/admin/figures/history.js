import { COUNTS, GAUGES, STAGES } from './columns.js'

/**
 * The samples of the last hour, as rows of numbers in one buffer: it has its whole size from the beginning, so the heap
 * of a launcher does not grow for an hour, and a sample takes 0.3 KB, a tenth of an object.
 *
 * @typedef {import('./sample.js').Figures & { at: number, ready: number }} Sample at: ms since 1970; ready: processes
 * @typedef {import('./reading.js').Values} Values
 */

const KEYS = /** @type {(keyof Values)[]} */ (Object.keys({ ...GAUGES, ...COUNTS }))
const [AT, READY, SECONDS, VALUES] = [0, 1, 2, 3]
const QUANTILES = VALUES + KEYS.length
const WIDTH = QUANTILES + 2 * STAGES.length

export class History {
  #rows
  #capacity
  #count = 0

  /** @param {number} capacity samples; the oldest ones are overwritten */
  constructor (capacity) {
    this.#capacity = capacity
    this.#rows = new Float64Array(capacity * WIDTH)
  }

  /** @param {number} i @returns {Float64Array} */
  #row (i) { return this.#rows.subarray((i % this.#capacity) * WIDTH, (i % this.#capacity + 1) * WIDTH) }

  /** @param {Sample} sample */
  push ({ at, ready, seconds, values, stages }) {
    const row = this.#row(this.#count++)
    row[AT] = at
    row[READY] = ready
    row[SECONDS] = seconds
    for (const [i, key] of KEYS.entries()) row[VALUES + i] = values[key]
    for (const [i, stage] of STAGES.entries()) {
      row[QUANTILES + 2 * i] = stages[stage].p50 ?? NaN
      row[QUANTILES + 2 * i + 1] = stages[stage].p99 ?? NaN
    }
  }

  /** @param {number} after ms since 1970 @returns {Sample[]} later ones, in their order */
  after (after) {
    const samples = []
    for (let i = Math.max(0, this.#count - this.#capacity); i < this.#count; i++) {
      const row = this.#row(i)
      if (row[AT] > after) samples.push(sampleOf(row))
    }
    return samples
  }
}

/** @param {number} value */
const known = (value) => Number.isNaN(value) ? null : value

/** @param {Float64Array} row @returns {Sample} */
const sampleOf = (row) => ({
  at: row[AT],
  ready: row[READY],
  seconds: row[SECONDS],
  values: /** @type {Values} */ (Object.fromEntries(KEYS.map((key, i) => [key, row[VALUES + i]]))),
  stages: Object.fromEntries(STAGES.map((stage, i) => [
    stage, { p50: known(row[QUANTILES + 2 * i]), p99: known(row[QUANTILES + 2 * i + 1]) }
  ]))
})
