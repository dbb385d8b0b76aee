import { appendFileSync } from 'node:fs'
import { markdownTable } from '../../bench/report/table.js'

/**
 * What each fault has shown: told at once, and kept for the table of the whole run (scripts/fault.js).
 *
 * @typedef {object} Row
 * @property {string} fault
 * @property {number} clients
 * @property {number} records published while it was looked at
 * @property {number} deliveries
 * @property {number} lost
 * @property {number} disordered
 * @property {number} doubled
 * @property {number} dropped came a second time and was dropped by its offset
 * @property {number} resyncs
 * @property {number} bridged records in place of which a resync came
 * @property {number} reconnects
 * @property {number} lasted how long the fault was made, ms
 * @property {import('../../bench/measure/quantiles.js').Quantiles} gaps of the clients: each one's longest wait for a
 *   record from when it was first offered, beyond the usual, ms
 * @property {number | null} normal median time of a record before the fault, ms
 * @property {number[]} load of the machine in the last minute, before and after
 * @property {Record<string, number>} refusals tries to connect or join that did not succeed, by reason
 * @property {Record<string, string | number>} more
 */

/** @param {Row} row */
export function saveRow (row) {
  const { FAULT_ROWS } = process.env
  if (FAULT_ROWS !== undefined) appendFileSync(FAULT_ROWS, `${JSON.stringify(row)}\n`)
  console.log(faultTable([row]))
  for (const line of remarks([row])) console.log(line)
}

/** @param {Row[]} rows @returns {string[]} what the table does not hold */
export function remarks (rows) {
  return rows.flatMap(({ fault, refusals, more }) => {
    const lines = Object.entries(more).map(([name, value]) => `${name} ${value}`)
    const refused = Object.entries(refusals).map(([reason, count]) => `${reason} (${count})`)
    if (refused.length > 0) lines.push(`tries to connect or join that did not succeed: ${refused.join(', ')}`)
    return lines.map((line) => `- ${fault}: ${line}`)
  })
}

/** @param {Row[]} rows @returns {string} */
export function faultTable (rows) {
  return markdownTable(
    [
      'fault',
      'lasted, s',
      'clients',
      'records',
      'deliveries',
      'lost',
      'out of order',
      'twice',
      'resyncs',
      'reconnects',
      'gap p50, ms',
      'gap p99, ms',
      'gap max, ms',
      'usual, ms',
      'load'
    ],
    rows.map(
      ({
        fault, lasted, clients, records, deliveries, lost, disordered, doubled, resyncs, reconnects, gaps, normal, load
      }) => [
        fault,
        (lasted / 1000).toFixed(1),
        clients, records, deliveries, lost, disordered, doubled, resyncs, reconnects,
        gaps.p50 ?? '-',
        gaps.p99 ?? '-',
        gaps.max ?? '-',
        normal ?? '-',
        load.join(' to ')
      ]
    )
  )
}
