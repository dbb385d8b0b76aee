import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { saveResults } from '../../../bench/report/results.js'

test('a run replaces page, plots and raw data of its topic, and of no other', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'inkcast-results-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const save = (/** @type {string} */ name, /** @type {number} */ run) => saveResults(
    name, { run, rounds: [{ run }], absent: undefined }, (plotFile) => `run ${run}, ${plotFile('lines')}`,
    { folder, plots: { lines: `svg ${run}` } }
  )
  save('delivery', 1)
  save('delivery-long', 2)
  save('delivery', 3)
  const read = (/** @type {string} */ file) => readFileSync(path.join(folder, file), 'utf8')
  assert.deepEqual(Object.fromEntries(readdirSync(folder).sort().map((file) => [file, read(file)])), {
    'delivery-lines.svg': 'svg 3',
    'delivery-long-lines.svg': 'svg 2',
    'delivery-long.json': '{\n "run": 2,\n "rounds": [{"run":2}]\n}\n',
    'delivery-long.md': 'run 2, delivery-long-lines.svg',
    'delivery.json': '{\n "run": 3,\n "rounds": [{"run":3}]\n}\n',
    'delivery.md': 'run 3, delivery-lines.svg'
  })
})
