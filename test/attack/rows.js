import { appendFileSync } from 'node:fs'
import { markdownTable } from '../../bench/report/table.js'

/**
 * Result of each attack: printed at once, and saved for the table of the whole run (scripts/attack.js).
 *
 * @typedef {object} Asked
 * @property {import('../../bench/measure/quantiles.js').Quantiles} latency ms
 * @property {string[]} failed the first causes
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
 * @property {number} paused longest time in which the process of the other clients did not run, ms
 * @property {Asked} callers requests of the api by others
 * @property {Asked} scrapes requests of the metrics
 * @property {string[]} refused the first answers to other clients that were not `ok`
 * @property {number} closed connections of other clients that ended
 * @property {number} missing responses and deliveries that other clients did not get
 * @property {{ before: number, most: number }} memory of the worker, MB resident
 * @property {{ role: string, before: number, most: number }[]} processes memory of each process, MB resident
 * @property {number} timeout documented time after which the server closes what the attacker leaves open, ms
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
      'callers: p99, ms',
      'scrape: max, ms',
      'closed',
      'missing',
      'MB before',
      'MB at most',
      'most growth of a process, MB',
      'timeout, s',
      'freed after, s'
    ],
    rows.map(({
      attack, who, seconds, connections, megabytes, cpu, latency, callers, scrapes, closed, missing, memory, processes,
      timeout, freed
    }) => [
      attack, who, seconds, connections, megabytes, cpu,
      latency.p50 ?? '-',
      latency.p99 ?? '-',
      latency.max ?? '-',
      callers.latency.p99 ?? '-',
      scrapes.latency.max ?? '-',
      closed,
      missing,
      memory.before,
      memory.most,
      Math.max(...processes.map(({ before, most }) => most - before)),
      timeout / 1000,
      freed
    ])
  )
}
