import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { saveResults } from '../../../bench/report/results.js'

test('pages, plots and raw data of all runs of a topic are kept', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'inkcast-results-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const save = (/** @type {string} */ name, /** @type {string} */ day) =>
    saveResults(name, {}, () => 'page', { folder, date: new Date(`2026-11-${day}T10:00:00Z`), plots: { lines: 'svg' } })
  save('delivery', '20')
  save('delivery-long', '20')
  save('delivery', '22')
  save('delivery', '21')
  assert.deepEqual(
    readdirSync(folder).filter((file) => file.endsWith('.json')).sort(),
    ['20', '21', '22'].map((day) => `delivery-2026-11-${day}-10-00.json`).concat('delivery-long-2026-11-20-10-00.json')
  )
  assert.equal(readdirSync(folder).filter((file) => /^delivery-2026.*(md|svg)$/.test(file)).length, 6)
})
