/**
 * The report of `npm run proof`, in Markdown.
 */
import { markdownTable } from '../markdown-table.js'
import { lostOf } from './run.js'

/** @typedef {import('./run.js').Outcome} Outcome */

/**
 * @param {Outcome[]} outcomes
 * @param {import('../../bench/measure/environment.js').Environment} where
 * @param {'full' | 'quick'} scale
 * @returns {string}
 */
export function proofPage (outcomes, { date, machine, versions, command }, scale) {
  const lost = outcomes.flatMap(lostOf)
  const minutes = outcomes.reduce((sum, outcome) => sum + outcome.minutes, 0)
  return `# Proof

${lost.length === 0 ? '**Lost: 0.**' : `**Lost: ${lost.length} findings, listed below.**`} One command runs everything that could show a \
lost, doubled or disordered record on this machine, and writes this page: \`npm run proof\`, or \`npm run proof -- --quick\` in about 20 \
minutes.

Last run: ${date.slice(0, 16).replace('T', ' ')} UTC, \`${command}\` (${scale}), ${Math.round(minutes)} minutes on ${machine.cores} cores \
(${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}), Node.js ${versions.node}, Redis ${versions.redis}, Kafka ${versions.kafka}.

${markdownTable(['part', 'question', 'what ran', 'lost', 'minutes'], outcomes.map((outcome) => [
  outcome.part.name, outcome.part.question, outcome.shown?.amount ?? 'nothing', String(lostOf(outcome).length),
  outcome.minutes.toFixed(1)
]))}
${section('Lost', lost)}${section('Limits that were exceeded, with nothing lost', outcomes.flatMap(exceeded))}
## Details

Each part is a command of its own:

${outcomes.map(({ part, command: own }) => `- ${part.name}: \`${own}\``).join('\n')}

A record counts as lost if a client neither got it nor a \`doc:resync\` in its place. docs/internals/promises.md names \
the check that holds each promise, and docs/internals/simulation.md says how seeds work.
`
}

/** @param {Outcome} outcome @returns {string[]} */
const exceeded = ({ part, shown }) => (shown?.limits ?? []).map((limit) => `${part.name}: ${limit}`)

/** @param {string} title @param {string[]} lines */
const section = (title, lines) => lines.length === 0 ? '' : `\n## ${title}\n\n${lines.map((line) => `- ${line}`).join('\n')}\n`
