import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { ESLint } from 'eslint'
import { WALL_CLOCK } from '../../eslint.config.js'
import { MODULE_STATE } from '../../scripts/lint/module-state.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RULES = new Set([
  'no-restricted-syntax', 'no-restricted-properties', 'no-restricted-globals', 'no-restricted-imports', 'inkcast/module-state'
])
const eslint = new ESLint({ cwd: ROOT, ruleFilter: ({ ruleId }) => RULES.has(ruleId) })

/** @param {string} code @param {string} filePath @returns {Promise<string[]>} messages */
async function lint (code, filePath) {
  const [{ messages }] = await eslint.lintText(code, { filePath: `${ROOT}${filePath}` })
  return messages.map(({ message }) => message)
}

/** Each makes a part of a simulation depend on what nobody hands down. */
const OWN_VALUES = [
  'export const at = () => Date.now()',
  'export const at = () => new Date()',
  'export const at = () => Date()',
  'export const at = () => performance.now()',
  'export const at = () => performance.timeOrigin',
  'export const at = () => performance.eventLoopUtilization()',
  'export const at = () => process.hrtime.bigint()',
  'export const at = () => process.uptime()',
  'export const spent = () => process.cpuUsage()',
  'export const spent = () => process.threadCpuUsage()',
  'export const spent = () => process.resourceUsage()',
  'export const later = (run) => setTimeout(run, 1)',
  'export const later = (run) => setImmediate(run)',
  'export const ended = () => AbortSignal.timeout(1)',
  'export const drawn = () => Math.random()',
  'export const drawn = () => crypto.randomUUID()',
  'export const drawn = (bytes) => crypto.getRandomValues(bytes)',
  'import { performance } from \'node:perf_hooks\'\nexport const at = () => performance',
  'import { setTimeout } from \'node:timers/promises\'\nexport const later = () => setTimeout(1)',
  ...['crypto, { hash }', '* as crypto', '{ randomBytes }', '{ randomUUID }', '{ webcrypto }', '{ getRandomValues }'].flatMap(
    (names) => ['crypto', 'node:crypto'].map((module) => `import ${names} from '${module}'\nexport const drawn = () => 1`)
  ),
  'import { systemClock } from \'../common/clock.js\'\nexport const at = () => systemClock.monotonic()',
  'import { systemClock as clock } from \'../../common/clock.js\'\nexport const at = () => clock.monotonic()',
  'import { systemRandom } from \'../common/random.js\'\nexport const drawn = () => systemRandom.uuid()'
]

/** Each keeps something that two clusters in one process would share. */
const KEEPS = [
  'let last = 0\nexport const next = () => ++last',
  'export let last = 0',
  'const known = new Map()\nexport const note = (name) => known.set(name, 1)',
  'export const known = new WeakMap()',
  'const known = new Map([[1, 2]])\nexport const note = (name) => known.set(name, 1)',
  'class Table {}\nexport const table = new Table()',
  'export const tables = { one: new Uint8Array(8) }',
  'export const tables = Object.freeze([new Set()])',
  'const limit = createLimit()\nexport const due = () => limit.due()',
  'const counts = { all: 0 }\nexport const count = () => counts.all++',
  'const counts = { all: 0 }\nexport function count () { counts.all = 1 }',
  'const list = []\nexport const add = (one) => list.push(one)',
  'const seen = {}\nexport const forget = (name) => delete seen[name]',
  'export function next () { return next.last = 1 }',
  'export class Receiver { static last = 0 }'
]

describe('a part of src', () => {
  for (const code of OWN_VALUES) {
    test(`does not take time, CPU time or random values by itself: ${code.split('\n')[0]}`, async () => {
      assert.equal((await lint(code, 'src/gateway/unknown.js')).length, 1)
    })
  }

  for (const code of KEEPS) {
    test(`keeps nothing at module level: ${code.replace('\n', '; ')}`, async () => {
      assert.ok((await lint(code, 'src/gateway/unknown.js')).some((message) => /holds state/.test(message)))
      assert.ok((await lint(code, 'client/unknown.js')).some((message) => /holds state/.test(message)))
    })
  }

  test('may have tables that do not change', async () => {
    const code = `
      const NAMES = new Set(['a'])
      const WORDS = { a: ['b'], c: /d/y }
      export const has = (name) => NAMES.has(name) && WORDS.a.includes(name)`
    assert.deepEqual(await lint(code, 'src/gateway/unknown.js'), [])
  })
})

for (const [list, expected] of /** @type {const} */ ([[MODULE_STATE, /holds state/], [WALL_CLOCK, /time of day/]])) {
  test(`each file with an exception needs it: ${expected.source}`, async () => {
    for (const file of Object.keys(list)) {
      const messages = await lint(await readFile(ROOT + file, 'utf8'), `${dirname(file)}/unknown.js`)
      assert.ok(messages.some((message) => expected.test(message)), file)
    }
  })
}

test('a test does not set the clock of its process', async () => {
  for (const code of ['t.mock.method(systemClock, \'now\', () => 1)', 'systemClock.monotonic = () => 1'])
    assert.equal((await lint(`/* global t, systemClock */\n${code}\n`, 'test/process/unknown.test.js')).length, 1, code)
})
