#!/usr/bin/env node
/**
 * Prints the size of the project beside the committed numbers: `npm run counts`. With `--write` it commits to the
 * current ones; test/unit/counts.test.js compares them.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { changes, committed, count, NUMBERS, written } from './counts/count.js'

const { values: { write } } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const before = committed()
const now = count()
for (const [name, value] of Object.entries(now)) {
  const was = before[/** @type {keyof typeof now} */ (name)]
  console.log(`${name.padEnd(14)} ${String(value).padStart(7)}${value === was ? '' : `  (committed: ${was})`}`)
}
if (write) writeFileSync(NUMBERS, written(now))
else process.exitCode = changes(before, now).length === 0 ? 0 : 1
