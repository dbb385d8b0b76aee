#!/usr/bin/env node
/**
 * Runs the faults of test/fault and writes their effect on clients to bench/results:
 *
 *   npm run test:fault                                                   all of them
 *   npm run test:fault -- redis kafka                                    those of these files
 *   npm run test:fault -- processes -- --test-name-pattern=launcher      options for node --test
 *
 * Exit code: that of scripts/test.js.
 */
import { faultTable, remarks } from '../test/fault/rows.js'
import { runRecorded } from './recorded.js'

/** @typedef {import('../test/fault/rows.js').Row} Row */

process.exit(await runRecorded({ ring: 'fault', variable: 'FAULT_ROWS', table: faultTable, page }))

/** @param {Row[]} rows @param {import('./recorded.js').Environment} where @param {number} busy @returns {string} */
function page (rows, { date, machine, versions, command }, busy) {
  const more = remarks(rows)
  return `# Faults, ${date.slice(0, 10)}

\`${command}\` on ${machine.cores} cores (${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}), Node.js ${versions.node}, Redis \
${versions.redis}, Kafka ${versions.kafka}.
The cores were ${Math.round(busy * 100)} % busy, with the clients, the services and other programs; the load average was ${machine.load} \
in the minute before.

A client's gap is its longest wait for a record, from the first attempt to publish it to the api or to Kafka, less the median before the \
fault. It
includes the fault itself, while publishing or delivery was impossible, and the time until the client has reconnected; stock clients \
wait 0.5 to 1.5 s
before their first attempt.

${faultTable(rows)}

Lost, out of order and twice are counted after the client's check of offsets; a record that a \`doc:resync\` replaces is not lost.
${more.length > 0 ? `\n${more.join('\n')}\n` : ''}`
}
