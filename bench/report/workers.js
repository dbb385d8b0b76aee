/**
 * The tables of runs with different numbers of workers (bench/workers.js, bench/run.js).
 */
import { markdownTable } from './table.js'

/** @typedef {import('../workers.js').Row} Row */

/** @type {[keyof Row, string, number][]} key, title, digits */
const FIGURES = [
  ['handshake', 'handshake with a join, all processes, µs of CPU', 0],
  ['handshakeRedis', 'the same in Redis, µs', 0],
  ['steady', 'delivery, steady 10,000/s, µs', 1],
  ['steadyRedis', 'record in Redis, steady, µs', 0],
  ['bursts', 'delivery, in bursts, µs', 2],
  ['burstsRedis', 'record in Redis, in bursts, µs', 0],
  ['p99', 'latency p99, steady, ms', 0],
  ['restCpu', 'at rest without connections: CPU of all processes, % of a core', 1],
  ['restWorkerCpu', 'the same of one worker, %', 2],
  ['restRedis', 'the same of Redis, %', 1],
  ['restMemory', 'at rest: memory of all processes, MB', 0],
  ['restWorkerMemory', 'the same of one worker, MB', 0]
]

/**
 * Growth of each system's cost.
 * @param {import('../delivery/summary.js').SystemSummary[]} few
 * @param {import('../delivery/summary.js').SystemSummary[]} many with more workers
 * @returns {string} Markdown
 */
export function growthTable (few, many) {
  /** @type {[string, (system: import('../delivery/summary.js').SystemSummary) => number | undefined][]} */
  const figures = [
    ['handshake with a token and a join', ({ connect }) => connect?.cpuUs],
    ['delivery, steady 10,000/s', ({ steady }) => steady?.cpuUs],
    ['delivery, one record per document at once', ({ single }) => single?.cpuUs],
    ['delivery, ten records per document at once', ({ burst }) => burst?.cpuUs]
  ]
  return markdownTable(['µs of CPU', ...few.map(({ system }) => system)], figures.map(([title, read]) => [
    title,
    ...few.map((own) => {
      const other = many.find(({ system }) => system === own.system)
      const [before, after] = [read(own), other && read(other)]
      return before === undefined || after === undefined
        ? '–'
        : `${before.toFixed(1)} → ${after.toFixed(1)} (${(after / before).toFixed(2)})`
    })
  ]))
}

/** @param {Row[]} rows fewest workers first @returns {string} Markdown */
export function workersTable (rows) {
  const [least] = rows
  return markdownTable(['figure', ...rows.map(({ workers }) => `${workers} workers`)], FIGURES.map(([key, title, digits]) => [
    title,
    ...rows.map((row) => {
      const value = Number(row[key])
      return `${value.toFixed(digits)}${row === least ? '' : ` (${(value / Number(least[key])).toFixed(2)})`}`
    })
  ]))
}
