import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { commandNames, findCommand } from '../../../src/redis/store/commands/table.js'
import { drawSequence } from '../../differential/sequence.js'

const PAGE = new URL('../../../docs/internals/decisions/0162-built-in-store.md', import.meta.url)
const SEQUENCES = 'random sequences'
/** Far fewer than the differential test plays. */
const DRAWN = 200

/** The comparison of each command with Redis, by the table of the page. */
const compared = new Map([...readFileSync(PAGE, 'utf8').matchAll(/^\| (`[a-z].*) \| (.+) \|$/gm)].flatMap(([, commands, by]) =>
  [...commands.replace(/\([^)]*\)/g, '').matchAll(/`([a-z ]+)`/g)].map(([, name]) => [name.replace(' ', '|'), by])))

test('each command of the built-in store, and no other one, is in the table of comparisons with Redis', () => {
  assert.deepEqual([...compared.keys()].sort(), commandNames())
})

test('each command that random sequences should compare is drawn for them', () => {
  const drawn = new Set()
  for (let seed = 1; seed <= DRAWN; seed++) {
    for (const step of drawSequence(seed, new Map()).steps) if ('args' in step) drawn.add(findCommand(step.args)?.name)
  }
  assert.deepEqual([...compared].filter(([name, by]) => by === SEQUENCES && !drawn.has(name)), [])
})

test('each other one is compared by a test that is there', () => {
  const files = new Set([...compared.values()].filter((by) => by !== SEQUENCES).map((by) => by.replaceAll('`', '')))
  for (const file of files) assert.ok(existsSync(new URL(`../../../${file}`, import.meta.url)), file)
})
