import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { environment } from '../../../bench/measure/environment.js'
import { proofPage } from '../../../scripts/proof/page.js'
import { PARTS } from '../../../scripts/proof/parts.js'
import { lostOf, runParts } from '../../../scripts/proof/run.js'

/** @typedef {import('../../../scripts/proof/parts.js').Part} Part */

const part = (/** @type {string} */ name) => /** @type {Part} */ (PARTS.find((one) => one.name === name))

/** @param {string} name @returns {any} results of the last published run */
const published = (name) => JSON.parse(readFileSync(new URL(`../../../bench/results/${name}.json`, import.meta.url), 'utf8'))

test('each part is read as its command saves it', () => {
  const simulation = { seeds: 2, seconds: 80, failed: [] }
  const attack = { rows: [{ attack: 'flood', seconds: 3, missing: 0 }] }
  for (const { name, results, read } of PARTS) {
    const saved = { simulation, attacks: attack }[name] ?? published(results)
    const { amount, lost } = read(saved)
    assert.match(amount, /^[\d,]+ /, name)
    assert.deepEqual(lost, [], name)
  }
})

test('whatever a part has lost is named', () => {
  const fault = published('fault')
  Object.assign(fault.rows[0], { lost: 2, disordered: 1, doubled: 3 })
  assert.deepEqual(part('faults').read(fault).lost, [2, 1, 3].map((count, i) =>
    `${fault.rows[0].fault}: ${count} ${['lost', 'out of order', 'doubled'][i]}`))
  const load = published('published')
  load.runs[0].missing.documents = 1
  load.runs[0].summary.holes = 1
  assert.equal(part('load').read(load).lost.length, 2)
  const soak = published('soak')
  soak.result.load.missing.everyone = 1
  assert.equal(part('soak').read(soak).lost.length, 1)
  const cost = published('delivery')
  cost.rounds.find((/** @type {any} */ { system }) => system === 'inkcast').steady.missing = 4
  assert.deepEqual(part('cost').read(cost).lost, ['inkcast: 4 missing'])
  assert.equal(part('attacks').read({ rows: [{ attack: 'flood', seconds: 3, missing: 1 }] }).lost.length, 1)
  const failed = [{ command: 'npm run simulate -- --seed 7', violation: 'page-1 got a record twice' }]
  assert.deepEqual(part('simulation').read({ seeds: 1, seconds: 1, failed }).lost,
    ['page-1 got a record twice (to repeat it: `npm run simulate -- --seed 7`)'])
})

test('commands of parts exist', () => {
  for (const { full, quick } of PARTS)
    for (const { args } of [full, quick]) assert.ok(existsSync(new URL(`../../../${args[0]}`, import.meta.url)), args[0])
})

test('the page says what was lost, also if a part did not run to its end, and a command gets its own folder', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-proof-'))
  t.after(() => rmSync(folder, { recursive: true }))
  /** @param {string} name @param {string} code @returns {Part} */
  const madeUp = (name, code) => {
    const script = path.join(folder, `${name}.mjs`)
    writeFileSync(script, `import { writeFileSync } from 'node:fs'\n${code}`)
    const scale = { args: [script], minutes: 1 }
    return {
      name, question: 'Well?', full: scale, quick: scale, results: name,
      read: ({ amount, lost, limits }) => ({ amount, lost, limits })
    }
  }
  const saving = (/** @type {string} */ name, /** @type {object} */ result) =>
    madeUp(name, `writeFileSync(process.env.RESULTS_FOLDER + '/${name}.json', '${JSON.stringify(result)}')`)
  const parts = [
    saving('good', { amount: '5 things', lost: [], limits: ['the heap grew'] }),
    saving('bad', { amount: '6 things', lost: ['one record'] }),
    madeUp('ended', 'process.exit(3)'),
    madeUp('failed', `writeFileSync(process.env.RESULTS_FOLDER + '/failed.json', '{"amount":"7 things","lost":[]}')\nprocess.exit(1)`)
  ]
  writeFileSync(path.join(folder, 'ended.json'), '{}') // of an earlier run
  const outcomes = await runParts(parts, { scale: 'quick', folder, signal: new AbortController().signal, say () {} })
  assert.deepEqual(outcomes.map((outcome) => lostOf(outcome).length), [0, 1, 1, 1])
  const page = proofPage(outcomes, environment({ redis: '7', kafka: '4' }))
  assert.match(page, /\*\*Lost: 3 findings, listed below\.\*\*/)
  assert.match(page, /^- one record$/m)
  assert.match(page, /^- the part did not run to its end: node .*ended\.mjs$/m)
  assert.match(page, /^- exit code 1 of node .*failed\.mjs: see what it printed$/m)
  assert.match(page, /## Limits that were exceeded, with nothing lost\n\n- good: the heap grew\n/)
  assert.match(proofPage(outcomes.slice(0, 1), environment()), /\*\*Lost: 0\.\*\*/)

  const again = await runParts(parts, {
    scale: 'quick', folder, signal: new AbortController().signal, say () {}, goOn: true
  })
  const dates = (/** @type {typeof outcomes} */ of) => of.map(({ date }) => date)
  assert.deepEqual(again.map((outcome) => lostOf(outcome).length), [0, 1, 1, 1])
  assert.deepEqual(dates(again).map((date, i) => date === outcomes[i].date), [true, true, false, true],
    'continued: a part without results runs again')
  const other = (/** @type {'quick' | 'full'} */ scale) =>
    [{ ...parts[0], [scale]: { ...parts[0][scale], args: [...parts[0][scale].args, '--other'] } }]
  const [kept] = await runParts(other('quick'), {
    scale: 'quick', folder, signal: new AbortController().signal, say () {}, goOn: true
  })
  assert.equal(kept.date, again[0].date, 'the full run of a part shows more than the quick one')
  const [repeated] = await runParts(other('full'), {
    scale: 'full', folder, signal: new AbortController().signal, say () {}, goOn: true
  })
  assert.notEqual(repeated.date, again[0].date, 'a quick run does not count as the full one')

  const interrupted = AbortSignal.abort()
  assert.deepEqual(await runParts(parts, { scale: 'quick', folder, signal: interrupted, say () {} }), [])
})
