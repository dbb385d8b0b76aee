#!/usr/bin/env node
/**
 * Runs the attacks of test/attack, 60 s each (ATTACK_SECONDS), and writes their effect on other clients to
 * bench/results:
 *
 *   npm run test:attack                                          all of them
 *   npm run test:attack -- -- --test-name-pattern=JSON           options for node --test
 *
 * Exit code: that of scripts/test.js.
 */
import { attackTable } from '../test/attack/rows.js'
import { runRecorded } from './recorded.js'

process.exit(
  await runRecorded({
    ring: 'attack',
    variable: 'ATTACK_ROWS',
    env: { ATTACK_SECONDS: '60' },
    table: attackTable,
    page
  })
)

/**
 * @param {import('../test/attack/rows.js').Row[]} rows
 * @param {import('./recorded.js').Environment} where
 * @param {number} busy
 * @returns {string}
 */
function page (rows, { date, machine, versions, command }, busy) {
  return `# Attacks, ${date.slice(0, 10)}

\`${command}\` on ${machine.cores} cores (${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}), Node.js ${versions.node}, Redis \
${versions.redis}.
The cores were ${Math.round(busy * 100)} % busy; attacker, other clients and the gateway share them.

Each attack runs against a fresh cluster, so that its memory is not that of an earlier attack: one gateway worker with 1 GB of heap. 100 \
clients in ten documents
each signal the other nine members once a second; \`others\` are the latencies of their responses and deliveries. Beside them five \
callers query the api (in attacks on
the gRPC port over gRPC), and the metrics are scraped once a second. The attacker keeps its side of its connections open: \`freed \
after\` is the time from the end of
the attack until the processes had closed all of them, \`timeout\` the documented time for it. Memory is resident memory of the attacked \
process.

${attackTable(rows)}
`
}
