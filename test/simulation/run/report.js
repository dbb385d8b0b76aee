/**
 * The report of a run of seeds.
 */
import { markdownTable } from '../../../scripts/markdown-table.js'
import { withoutOptions } from './options.js'

/**
 * @typedef {import('./seed-process.js').Job} Job
 * @typedef {import('./seed-process.js').SeedResult} SeedResult
 * @typedef {import('./campaign.js').Totals} Totals
 */

/** Violations of one seed that are printed. */
const SHOWN = 5

/** @param {Job} job @returns {string} the command that repeats it */
export function repeating ({ seed, scenario, without = {} }) {
  const options = [`--seed ${seed}`, ...scenario === 'default' ? [] : [`--scenario ${scenario}`], withoutOptions(without)]
  return `npm run simulate -- ${options.filter((option) => option !== '').join(' ')}`
}

/** @param {SeedResult} result @returns {string} */
export const violationsOf = ({ violations }) => [
  ...violations.slice(0, SHOWN),
  ...violations.length > SHOWN ? [`and ${violations.length - SHOWN} more`] : []
].map((line) => `  ${line.replaceAll('\n', '\n    ')}`).join('\n')

/** @param {Job} job @param {SeedResult} result @returns {string} */
export const failureText = (job, result) =>
  `seed ${job.seed}${job.scenario === 'default' ? '' : ` of ${job.scenario}`} breaks a promise:\n${violationsOf(result)}\nto repeat it: ` +
  `${repeating(job)}`

/** @param {SeedResult} result @returns {string} */
export const scheduleOf = ({ plan }) =>
  plan.length === 0 ? '  no fault' : plan.map((line) => `  ${line}`).join('\n')

/** @param {SeedResult} result @returns {string} of a single seed */
export function seedText (result) {
  const { seed, hash, seconds, turns, cpuMs, wallMs, counts, violations } = result
  return [
    `seed ${seed}: ${violations.length === 0 ? 'no violation' : `${violations.length} violations`}`,
    ...violations.length === 0 ? [] : [violationsOf(result)],
    `trace ${hash}; ${seconds.toFixed(1)} virtual seconds and ${thousands(turns)} turns ` +
    `in ${(wallMs / 1000).toFixed(2)} s, of which ${(cpuMs / 1000).toFixed(2)} s of CPU`,
    `schedule:\n${scheduleOf(result)}`,
    Object.entries(counts).map(([name, count]) => `${name} ${thousands(count)}`).join(', ')
  ].join('\n')
}

/** @param {Totals} totals @param {number} wallSeconds @returns {string} */
export function summaryText (totals, wallSeconds) {
  const width = Math.max(0, ...[...totals.counts.keys()].map((name) => name.length))
  return [
    ...[...totals.counts].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, count]) => `  ${name.padEnd(width)} ${thousands(count).padStart(12)}`),
    `${thousands(totals.seeds)} seeds, ${totals.violations} violations, ${thousands(totals.seconds)} virtual seconds ` +
    `in ${Math.round(wallSeconds)} s: ${totals.speed.toFixed(1)} for each second of CPU`
  ].join('\n')
}

/**
 * @param {Totals} totals
 * @param {number} wallSeconds
 * @param {import('../../../bench/measure/environment.js').Environment & { seeds: string }} where
 * @returns {string} a page of bench/results
 */
export const summaryPage = (totals, wallSeconds, { date, command, seeds, machine, versions }) => `# Simulation, ${date.slice(0, 10)}

\`${command}\` on ${machine.cores} cores (${machine.cpu}), Node.js ${versions.node}.

${thousands(totals.seeds)} seeds (${seeds}), ${totals.violations} violations. ${thousands(totals.seconds)} virtual seconds and \
${thousands(totals.turns)} turns in ${thousands(wallSeconds)} s, ${totals.speed.toFixed(1)} virtual seconds for each second of CPU.

${markdownTable(['fault, or what was checked', 'count', 'of each seed'], [...totals.counts].sort(([a], [b]) => a < b ? -1 : 1)
  .map(([name, count]) => [name, thousands(count), (count / totals.seeds).toFixed(2)]))}
`

/** @param {number} value */
const thousands = (value) => Math.round(value).toLocaleString('en-US')
