import { appendFileSync } from 'node:fs'
import { markdownTable } from '../../bench/report/table.js'

/**
 * Result of each attack: printed at once, and saved for the table of the whole run (scripts/attack.js).
 *
 * @typedef {object} Row
 * @property {string} attack
 * @property {'anybody' | 'a client' | 'one user' | 'a caller'} who
 * @property {number} seconds duration
 * @property {number} connections made by the attacker
 * @property {number} megabytes written by the attacker
 * @property {number} cpu of the worker, percent of a core
 * @property {import('../../bench/measure/quantiles.js').Quantiles} latency of responses and deliveries to the other
 *   clients, ms
 * @property {number} closed connections of other clients that ended
 * @property {number} missing responses and deliveries that other clients did not get
 * @property {{ before: number, most: number }} memory of the worker, MB resident
 * @property {number} freed time until the server had closed all connections of the attacker, s
 */

/** @param {Row} row */
export function saveRow (row) {
  const { ATTACK_ROWS } = process.env
  if (ATTACK_ROWS !== undefined) appendFileSync(ATTACK_ROWS, `${JSON.stringify(row)}\n`)
  console.log(attackTable([row]))
}

/** @param {Row[]} rows @returns {string} */
export function attackTable (rows) {
  return markdownTable(
    [
      'attack',
      'by',
      's',
      'connections',
      'MB',
      'worker CPU, %',
      'others: p50, ms',
      'p99, ms',
      'max, ms',
      'closed',
      'missing',
      'MB before',
      'MB at most',
      'freed after, s'
    ],
    rows.map(({ attack, who, seconds, connections, megabytes, cpu, latency, closed, missing, memory, freed }) => [
      attack, who, seconds, connections, megabytes, cpu,
      latency.p50 ?? '-',
      latency.p99 ?? '-',
      latency.max ?? '-',
      closed,
      missing,
      memory.before,
      memory.most,
      freed
    ])
  )
}
