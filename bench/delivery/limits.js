/**
 * Requirements at the default scale. `--check` fails if one is not met.
 */
import { round } from '../measure/quantiles.js'

/**
 * @typedef {import('./summary.js').SystemSummary} SystemSummary
 * @typedef {object} Verdict
 * @property {string} what
 * @property {number} measured
 * @property {number} limit maximum
 * @property {boolean} holds
 */

/** Variation between runs of the costs per delivery at 100 and at 10,000 members. */
const NOISE = 1.05
/** How much later than with the libraries alone a record may arrive at p99, ms. */
const LATER = 3

/**
 * @param {SystemSummary[]} summary
 * @returns {Verdict[]} for the measured figures
 */
export function judge (summary) {
  const inkcast = summary.find(({ system }) => system === 'inkcast')
  const baseline = summary.find(({ system }) => system === 'baseline')
  const floor = summary.find(({ system }) => system === 'floor, libraries')
  if (inkcast === undefined) return []
  /** @type {Verdict[]} */
  const verdicts = []
  const atMost = (
    /** @type {string} */ what,
    /** @type {number | undefined} */ measured,
    /** @type {number | undefined} */ limit
  ) => {
    if (measured !== undefined && limit !== undefined)
      verdicts.push({ what, measured, limit, holds: measured <= limit })
  }
  /** @param {number | undefined} own @param {number | undefined} other */
  const ratio = (own, other) =>
    own === undefined || other === undefined ? undefined : round(own / other, 3)
  /** @param {SystemSummary | undefined} system @param {number} count */
  const at = (system, count) => system?.members.find((each) => each.count === count)?.line.cpuUs

  const ofBaseline = ', relative to the baseline'
  const ofFloor = ', relative to the libraries alone'
  const single = ratio(inkcast.single?.cpuUs, floor?.single?.cpuUs)
  atMost(`CPU per delivery in bursts${ofBaseline}`, ratio(inkcast.burst?.cpuUs, baseline?.burst?.cpuUs), 0.13)
  atMost(`CPU per delivery in bursts of one record per document${ofFloor}`, single, 1.05)
  atMost(`CPU per delivery at a steady rate${ofFloor}`, ratio(inkcast.steady?.cpuUs, floor?.steady?.cpuUs), 1.45)
  atMost(`CPU per record to ten members${ofBaseline}`, ratio(at(inkcast, 10), at(baseline, 10)), 0.5)
  atMost(`CPU per handshake, with life-cycle events${ofBaseline}`,
    ratio(inkcast.connect?.cpuUs, baseline?.connect?.cpuUs), 0.38)
  atMost('resident KB per idle connection, all on one worker', inkcast.memory?.workerKb, 7)
  atMost('p99 at a steady rate, ms', inkcast.steady?.p99, floor?.steady && round(floor.steady.p99 + LATER, 2))
  atMost('CPU per delivery at 10,000 members, relative to 100', ratio(at(inkcast, 10_000), at(inkcast, 100)), NOISE)
  return verdicts
}

/**
 * Errors at any scale.
 * @param {SystemSummary[]} summary
 * @returns {string[]}
 */
export function faults (summary) {
  return summary.flatMap(({ system, burst, single, steady, members, documents, unconnected, lost }) => {
    const lines = [burst, single, steady, ...[...members, ...documents].map(({ line }) => line)].filter(
      (line) => line !== undefined
    )
    const sum = (/** @type {'missing' | 'doubled' | 'disordered'} */ name) =>
      lines.reduce((total, line) => total + line[name], 0)
    const found = Object.entries({
      'deliveries are missing': sum('missing'),
      'deliveries are duplicates': sum('doubled'),
      'deliveries are out of order': sum('disordered'),
      // for the baseline a result (@socket.io/sticky loses some), not a fault of the run
      ...(system.startsWith('inkcast') ? { 'handshakes failed': unconnected, 'connections were lost': lost } : {})
    })
    return found.flatMap(([what, count]) => count > 0 ? [`${system}: ${count} ${what}`] : [])
  })
}
