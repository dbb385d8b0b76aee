import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Conflicts } from '../../../packages/demo/page/js/conflicts.js'

/** @param {Conflicts} conflicts */
const shown = (conflicts) => Object.fromEntries(conflicts.open)

/** @param {string} text @param {number} version @param {number} [base] */
const change = (text, version, base) => ({ id: 'x', version, cells: { B2: text }, ...(base !== undefined && { base }) })

/** @param {string} text */
function typing (text) {
  const conflicts = new Conflicts()
  conflicts.edits('B2')
  conflicts.typed('B2', text)
  return conflicts
}

test('text of somebody else in the cell that is being edited is shown beside the own text, as both go on', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  assert.deepEqual(shown(conflicts), { B2: { mine: 'A', theirs: 'G', by: 'grace', mineStands: false } })
  conflicts.typed('B2', 'Ad')
  conflicts.applied(change('Ad', 5, 4), null)
  assert.deepEqual(shown(conflicts), { B2: { mine: 'Ad', theirs: 'G', by: 'grace', mineStands: true } })
  conflicts.applied(change('Gr', 6, 5), 'grace')
  assert.deepEqual(shown(conflicts), { B2: { mine: 'Ad', theirs: 'Gr', by: 'grace', mineStands: false } })
})

test('where the own text is the last one, the conflict ends with the edit', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  conflicts.applied(change('A', 5, 4), null)
  conflicts.edits(null)
  assert.deepEqual(shown(conflicts), {})
})

test('where the other text is the last one, the own text stays on offer after the edit', () => {
  const conflicts = typing('A')
  conflicts.applied(change('A', 4, 3), null)
  conflicts.applied(change('G', 5, 3), 'grace')
  conflicts.edits(null)
  assert.deepEqual(shown(conflicts), { B2: { mine: 'A', theirs: 'G', by: 'grace', mineStands: false } })
  assert.equal(conflicts.keep('B2'), 'A')
  assert.deepEqual(shown(conflicts), {})
})

test('a finished text that is replaced by somebody who had not seen it is on offer', () => {
  const conflicts = typing('Ada')
  conflicts.applied(change('Ada', 4, 3), null)
  conflicts.edits(null)
  conflicts.applied(change('Grace', 5, 3), 'grace')
  assert.equal(shown(conflicts).B2.mine, 'Ada')
})

test('a finished text that somebody saw before they replaced it is no conflict', () => {
  const conflicts = typing('Ada')
  conflicts.applied(change('Ada', 4, 3), null)
  conflicts.edits(null)
  conflicts.applied(change('Ada L.', 5, 4), 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('after a conflict that was won, the answer of the other person is shown', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  conflicts.applied(change('A', 5, 4), null)
  conflicts.edits(null)
  conflicts.applied(change('Grace', 6, 5), 'grace')
  assert.deepEqual(shown(conflicts), { B2: { mine: 'A', theirs: 'Grace', by: 'grace', mineStands: false } })
})

test('after the own text was kept, the answer of the other person is shown', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  conflicts.typed('B2', conflicts.keep('B2') ?? '')
  conflicts.edits(null)
  conflicts.applied(change('A', 5, 4), null)
  conflicts.applied(change('Grace', 6, 5), 'grace')
  assert.deepEqual(shown(conflicts), { B2: { mine: 'A', theirs: 'Grace', by: 'grace', mineStands: false } })
  assert.equal(conflicts.take('B2'), 'Grace')
  conflicts.applied(change('Grace H', 7, 6), 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('a cell that was only opened has no conflict', () => {
  const conflicts = typing('Ada')
  conflicts.applied(change('Ada', 4, 3), null)
  conflicts.edits(null)
  conflicts.edits('B2')
  conflicts.applied(change('Grace', 5, 4), 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('the same text from both is no conflict', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  conflicts.applied(change('A', 5, 3), 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('text of others in other cells is no conflict', () => {
  const conflicts = typing('A')
  conflicts.applied({ id: 'x', version: 4, cells: { C2: 'G' } }, 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('without a document service, versions are unknown: only the cell that is edited has conflicts', () => {
  const conflicts = typing('A')
  conflicts.applied({ id: 'x', cells: { B2: 'A' } }, null)
  conflicts.applied({ id: 'y', cells: { B2: 'G' } }, 'grace')
  assert.equal(shown(conflicts).B2.theirs, 'G')
  assert.equal(conflicts.take('B2'), 'G')
  conflicts.edits(null)
  conflicts.applied({ id: 'y', cells: { B2: 'Gr' } }, 'grace')
  assert.deepEqual(shown(conflicts), {})
})

test('after a reload the own text is still on offer, after a reset it is not', () => {
  const conflicts = typing('A')
  conflicts.applied(change('G', 4, 3), 'grace')
  conflicts.loaded(() => 'Grace')
  assert.deepEqual(shown(conflicts), { B2: { mine: 'A', theirs: 'Grace', by: 'grace', mineStands: false } })
  conflicts.clear()
  assert.deepEqual(shown(conflicts), {})
})
