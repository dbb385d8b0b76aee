import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { RINGS, selectRings, wantsHelp } from '../../../scripts/rings.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { identify, isAlive } from '../../services/process-identity.js'
import { waitUntil } from '../../services/wait.js'

const REPORTER = fileURLToPath(new URL('../../../scripts/ring-reporter.js', import.meta.url))
const RUNNER = fileURLToPath(new URL('../../../scripts/test.js', import.meta.url))
// the services need not exist: their addresses are only passed on
const GIVEN = {
  REDIS_URL: 'redis://given',
  REDIS_CLUSTER_URL: 'redis://a,redis://b',
  KAFKA_BROKERS: 'given:9092',
  KAFKA_CLASSPATH: '/given/*'
}

/**
 * Creates a project with these tests.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} files by path below test/; their text follows the usual imports
 */
function project (t, files) {
  const root = makeDirectory('runner-test')
  t.after(() => removeDirectory(root))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, 'test', path, '..'), { recursive: true })
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(root, 'test', path),
      `import { test, describe } from 'node:test'\nimport assert from 'node:assert'\n${text}\n`
    )
  }
  return root
}

/**
 * @param {string} root
 * @param {string[]} args
 */
function start (root, args) {
  const child = spawn(process.execPath, [RUNNER, ...args], { cwd: root, env: { ...process.env, ...GIVEN } })
  const run = { child, output: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => { run.output += text })
  return run
}

/** @param {string} root @param {string[]} args */
async function runTests (root, ...args) {
  const run = start(root, args)
  const [code] = await once(run.child, 'close')
  return { code, output: run.output, last: run.output.trimEnd().split('\n').at(-1) }
}

test('a ring that gives way sees when no other one runs any more', async (t) => {
  const root = project(t, {
    'unit/a.test.js': `import { setTimeout as delay } from 'node:timers/promises'
import { existsSync, writeFileSync } from 'node:fs'
test('works', async () => {
  while (!existsSync('simulation-has-begun')) await delay(20)
  writeFileSync('unit-has-ended', '')
})`,
    'simulation/b.test.js': `import { setTimeout as delay } from 'node:timers/promises'
import { existsSync, writeFileSync } from 'node:fs'
test('waits', async () => {
  writeFileSync('simulation-has-begun', '')
  while (!existsSync(process.env.GIVE_WAY_UNTIL)) await delay(20)
  assert.ok(existsSync('unit-has-ended'))
})`
  })
  const { code, output } = await runTests(root, 'unit', 'simulation')
  assert.equal(code, 0, output)
})

test('all rings run even when one fails, and the counts add up', async (t) => {
  const root = project(t, {
    'unit/a.test.js':
      'test("good", () => {}); test("bad", () => assert.fail("no")); test("later", { skip: true }, () => {})',
    'contract/b.test.js': 'describe("suite", () => { test("one", () => {}); test("two", { todo: true }, () => {}) })',
    'fault/c.test.js': 'test("not by default", () => assert.fail("ran"))'
  })
  const { code, output, last } = await runTests(root)
  assert.equal(last, '2 passed, 1 failed, 2 skipped', output)
  assert.equal(code, 1)
  assert.match(output, /^failed: test\/unit\/a\.test\.js: bad$/m)
  assert.match(output, /^unit +[\d.]+ s +1 +1 +1$/m)
  assert.match(output, /^contract +[\d.]+ s +1 +0 +1$/m)
})

test('a file has ended when all its tests have, and counts once although its tests are in other files', async (t) => {
  const root = project(t, {
    'contract/one.js': 'export const one = () => test("one", () => {})',
    'contract/two.js': 'export const two = () => test("two", () => new Promise((resolve) => setTimeout(resolve, 300)))',
    'contract/three.js': 'export const three = () => test("three", () => {})',
    'contract/a.test.js':
      'import { one } from "./one.js"; import { two } from "./two.js"; import { three } from "./three.js"; one(); two(); three()',
    'contract/b.test.js': 'import { one } from "./one.js"; one()'
  })
  const env = { ...process.env }
  // otherwise node --test would treat this run as a file of the outer one
  delete env.NODE_TEST_CONTEXT
  const { stdout } = await promisify(execFile)(
    process.execPath, ['--test', `--test-reporter=${REPORTER}`, 'test/contract/a.test.js', 'test/contract/b.test.js'],
    { cwd: root, env }
  )
  const lines = stdout.trim().split('\n').map((line) => JSON.parse(line))
  assert.deepEqual(lines.filter(({ result }) => result === 'passed').map(({ name }) => name).sort(), ['one', 'one', 'three', 'two'])
  const ends = lines.filter(({ ended }) => ended !== undefined).map(({ ended }) => basename(ended))
  assert.deepEqual(ends.sort(), ['a.test.js', 'b.test.js'])
  const two = lines.findIndex(({ name }) => name === 'two')
  const end = lines.findIndex(({ ended }) => ended?.endsWith('a.test.js'))
  assert.ok(two < end, stdout)
})

test('a ring in which no test ran is a failure', async (t) => {
  const root = project(t, {
    'unit/a.test.js': 'test("good", () => {})',
    'contract/empty.test.js': '',
    'integration/b.test.js': 'test.skip("all skipped", () => {})'
  })
  const { code, last, output } = await runTests(root)
  assert.equal(last, '1 passed, 2 failed, 1 skipped', output)
  assert.equal(code, 1)
  assert.match(output, /failed: contract: no test ran/)
  assert.match(output, /failed: integration: no test ran/)
  const named = await runTests(root, 'cluster')
  assert.equal(named.last, '0 passed, 1 failed, 0 skipped')
  assert.equal(named.code, 1)
})

test('a file that can not be loaded is a failure with its name, and those of its process run', async (t) => {
  const root = project(t, { 'unit/a.test.js': 'import "./missing.js"', 'unit/b.test.js': 'test("good", () => {})' })
  const { code, last, output } = await runTests(root)
  assert.equal(last, '1 passed, 1 failed, 0 skipped', output)
  assert.equal(code, 1)
  assert.match(output, /^failed: .*: test\/unit\/a\.test\.js can be loaded\n +.*missing\.js/m)
  assert.equal((await runTests(root, '--test-name-pattern=good')).code, 1)
})

test('files share a process in their order, those apart have their own, and one that ends early is a failure', async (t) => {
  const told = 'test("process", () => console.log(`${import.meta.url.slice(-9)} in ${process.pid}`))'
  const root = project(t, { 'unit/a.test.js': told, 'unit/b.test.js': told, 'unit/simulation/c.test.js': told })
  const { output } = await runTests(root)
  const [, a, b] = /^a\.test\.js in (\d+)$[^]*^b\.test\.js in (\d+)$/m.exec(output) ?? assert.fail(output)
  const [, c] = /^c\.test\.js in (\d+)$/m.exec(output) ?? assert.fail(output)
  assert.equal(a, b)
  assert.notEqual(a, c)
  const ending = project(t, { 'unit/a.test.js': `${told}; test("ends", () => process.exit(0))`, 'unit/b.test.js': told })
  const early = await runTests(ending)
  assert.equal(early.code, 1, early.output)
  assert.match(early.output, /^failed: .*: test\/unit\/a\.test\.js or test\/unit\/b\.test\.js$/m)
})

test('a filter reaches the tests; it may exclude all tests of one ring, but not of all rings', async (t) => {
  const root = project(t, {
    'unit/deep/a.test.js': 'test("red", () => {}); test("blue", (t) => t.test("blue inside", () => {}))',
    'contract/b.test.js': 'test("red", () => {})'
  })
  const blue = await runTests(root, '--test-name-pattern=blue')
  assert.equal(blue.last, '2 passed, 0 failed, 0 skipped', blue.output)
  assert.equal(blue.code, 0)
  const green = await runTests(root, 'unit', '--', '--test-name-pattern', 'green')
  assert.equal(green.last, '0 passed, 1 failed, 0 skipped', green.output)
  assert.equal(green.code, 1)
})

test('service rings get the variables of the services, unit tests none', async (t) => {
  const variables = JSON.stringify(Object.keys(GIVEN))
  const { code, output } = await runTests(
    project(t, {
      'unit/a.test.js': `test("none", () => assert.deepEqual(${variables}.filter((name) => name in process.env), []))`,
      'contract/b.test.js': `test("all", () => assert.deepEqual(${variables}.map((name) => process.env[name]), ` +
        `${JSON.stringify(Object.values(GIVEN))}))`
    })
  )
  assert.equal(code, 0, output)
})

test('an unknown ring is a usage error', async (t) => {
  const { code, output } = await runTests(project(t, {}), 'untit')
  assert.equal(code, 2)
  assert.match(output, /untit is neither a ring \(unit, .*\) nor a test file/)
})

test('--help prints the help of the runner and runs nothing', async (t) => {
  const root = project(t, { 'unit/a.test.js': 'test("ran", () => assert.fail("ran"))' })
  const { code, output } = await runTests(root, 'unit', '--help')
  assert.equal(code, 0, output)
  assert.match(output, /^Usage: node scripts\/test\.js \[ring \| file\]… \[-- options of node --test\]\n/)
  for (const [ring, { byDefault }] of Object.entries(RINGS))
    assert.match(output, new RegExp(`^  ${ring} +${byDefault ? '' : 'only by name; '}\\w`, 'm'))
  assert.doesNotMatch(output, /Usage: node \[options\]|1 failed/)
  assert.deepEqual([['-h'], ['unit', '-h'], ['--', '-h']].map(wantsHelp), [true, true, false])
})

test('--help behind -- belongs to node --test', async (t) => {
  const { output } = await runTests(project(t, { 'unit/a.test.js': 'test("good", () => {})' }), 'unit', '--', '--help')
  assert.match(output, /Usage: node \[options\]/)
})

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGKILL'])) {
  test(`${signal} to the runner ends the tests it runs`, async (t) => {
    const root = project(t, {
      'unit/a.test.js':
        'test("done", () => {}); test("long", async () => { console.log("pid", process.pid, "."); await new Promise((r) => ' +
        'setTimeout(r, 60_000)) })'
    })
    const run = start(root, ['unit'])
    const closed = once(run.child, 'exit')
    const pid = await waitUntil('the test', () =>
      Number(/pid (\d+) \./.exec(run.output)?.[1] ?? assert.fail(run.output))
    )
    const worker = identify(pid)
    assert.ok(worker)
    run.child.kill(signal)
    const [code] = await closed
    if (signal === 'SIGINT') assert.equal(code, 130)
    await waitUntil('the end of the test', () => assert.equal(isAlive(worker), false), { timeoutMs: 30_000 })
  })
}

test('rings are selected by name, folder or file, in their own order', (t) => {
  const root = project(t, { 'unit/a.test.js': '', 'unit/b.test.js': '', 'unit/helper.js': '', 'fault/c.test.js': '' })
  const files = ['test/unit/a.test.js', 'test/unit/b.test.js']
  assert.deepEqual(selectRings([], root), { selections: [{ name: 'unit', files }], nodeArgs: [] })
  assert.deepEqual(selectRings(['fault', 'unit'], root).selections.map(({ name }) => name), ['unit', 'fault'])
  assert.deepEqual(selectRings(['test/unit/'], root).selections, [{ name: 'unit', files }])
  assert.deepEqual(selectRings(['test/unit/b.test.js'], root).selections, [{ name: 'unit', files: files.slice(1) }])
  assert.deepEqual(selectRings(['unit', '--test-only', '--', '--test-name-pattern', 'x'], root).nodeArgs, [
    '--test-only',
    '--test-name-pattern',
    'x'
  ])
  for (const wrong of ['test/unit/helper.js', 'test/unit/none.test.js', 'toString', 'test'])
    assert.throws(() => selectRings([wrong], root), /neither a ring/)
})
