#!/usr/bin/env node
/**
 * Makes the faults of test/fault and writes what they did to clients to bench/results:
 *
 *   npm run test:fault                                                   all of them
 *   npm run test:fault -- redis kafka                                    those of these files
 *   npm run test:fault -- processes -- --test-name-pattern=launcher      options for node --test
 *
 * Exit code: that of scripts/test.js.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../bench/measure/environment.js'
import { machineMs, othersShare } from '../bench/measure/machine.js'
import { serviceVersions } from '../bench/measure/services.js'
import { saveResults } from '../bench/report/results.js'
import { faultTable, remarks } from '../test/fault/rows.js'
import { makeDirectory, removeDirectory } from '../test/services/directory.js'

/** @typedef {import('../test/fault/rows.js').Row} Row */

const args = process.argv.slice(2)
const end = args.indexOf('--')
const names = end === -1 ? args : args.slice(0, end)
const files = names.map((name) => `test/fault/${name}.test.js`)
const unknown = files.filter((file) => !existsSync(file))
if (unknown.length > 0) {
  console.error(`there is no ${unknown.join(', ')}`)
  process.exit(2)
}

const where = environment(await serviceVersions())
const directory = makeDirectory('fault')
const path = join(directory, 'rows.jsonl')
const begin = { worked: machineMs(), cpu: process.cpuUsage(), at: performance.now() }
const child = spawn(process.execPath, ['scripts/test.js', ...files.length > 0 ? files : ['fault'], ...end === -1 ? [] : args.slice(end)], {
  stdio: 'inherit',
  env: { ...process.env, FAULT_ROWS: path }
})
// it ends in order, and what there is until then is kept; of a Ctrl-C it hears as well
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
const [code] = await once(child, 'exit')
const busy = othersShare(machineMs() - begin.worked, 0, performance.now() - begin.at)

/** @type {Row[]} */
const rows = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : []
removeDirectory(directory)
if (rows.length > 0) {
  console.log(faultTable(rows))
  console.log(`kept in ${saveResults('fault', { ...where, busy, rows }, () => page(rows)).join(' and ')}`)
}
process.exit(code ?? 1)

/** @param {Row[]} rows @returns {string} */
function page (rows) {
  const { date, machine, versions, command } = where
  const more = remarks(rows)
  return `# Faults, ${date.slice(0, 10)}

\`${command}\` on ${machine.cores} cores (${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}), Node.js ${versions.node}, Redis ${versions.redis}, Kafka ${versions.kafka}.
The cores were ${Math.round(busy * 100)} % busy, with the clients, the services and whatever else ran on the machine; its load was ${machine.load} in the minute before.

A client's gap is its longest wait for a record, from when it was offered to the api or to Kafka first, beyond what is usual (the median before the fault). It
contains the fault itself, as far as nothing could be published or delivered, and the time until the client has come back; stock clients wait 0.5 to 1.5 s
before their first try.

${faultTable(rows)}

Lost, out of order and twice are counted after the client's check of offsets; a record in place of which \`doc:resync\` has come is not lost.
${more.length > 0 ? `\n${more.join('\n')}\n` : ''}`
}
