import { appendFileSync } from 'node:fs'
import { markdownTable } from '../../bench/report/table.js'

/**
 * Results of each fault: printed at once, and saved for the table of the whole run (scripts/fault.js).
 *
 * @typedef {object} Row
 * @property {string} fault
 * @property {number} clients
 * @property {number} records published during the fault
 * @property {number} deliveries
 * @property {number} lost
 * @property {number} disordered
 * @property {number} doubled
 * @property {number} dropped duplicates that were dropped by offset
 * @property {number} resyncs
 * @property {number} bridged records that a resync replaced
 * @property {number} reconnects
 * @property {number} lasted duration of the fault, ms
 * @property {import('../../bench/measure/quantiles.js').Quantiles} gaps for each client the longest time from the first
 *   publish attempt of a record to its arrival, less the normal median, ms
 * @property {number | null} normal median latency before the fault, ms
 * @property {number[]} load average of the machine over a minute, before and after
 * @property {Record<string, number>} refusals failed attempts to connect or join, by reason
 * @property {Record<string, string | number>} more
 */

/** @param {Row} row */
export function saveRow (row) {
  const { FAULT_ROWS } = process.env
  if (FAULT_ROWS !== undefined) appendFileSync(FAULT_ROWS, `${JSON.stringify(row)}\n`)
  console.log(faultTable([row]))
  for (const line of remarks([row])) console.log(line)
}

/** @param {Row[]} rows @returns {string[]} details that the table does not show */
export function remarks (rows) {
  return rows.flatMap(({ fault, refusals, more }) => {
    const lines = Object.entries(more).map(([name, value]) => `${name} ${value}`)
    const refused = Object.entries(refusals).map(([reason, count]) => `${reason} (${count})`)
    if (refused.length > 0) lines.push(`failed attempts to connect or join: ${refused.join(', ')}`)
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
      'per client',
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
        (reconnects / clients).toFixed(2),
        gaps.p50 ?? '-',
        gaps.p99 ?? '-',
        gaps.max ?? '-',
        normal ?? '-',
        load.join(' to ')
      ]
    )
  )
}
