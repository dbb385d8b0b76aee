import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellAfter, isWriting } from '../../../packages/demo/page/js/keys.js'

test('each key of a grid leads to its cell, and not beyond the edge', () => {
  /** @type {[string, import('../../../packages/demo/page/js/keys.js').Key, string | undefined][]} */
  const cases = [
    ['B2', { key: 'ArrowLeft' }, 'A2'],
    ['A2', { key: 'ArrowLeft' }, 'A2'],
    ['B2', { key: 'ArrowRight' }, 'C2'],
    ['E2', { key: 'ArrowRight' }, 'E2'],
    ['B2', { key: 'ArrowUp' }, 'B1'],
    ['B1', { key: 'ArrowUp' }, 'B1'],
    ['B2', { key: 'ArrowDown' }, 'B3'],
    ['B12', { key: 'ArrowDown' }, 'B12'],
    ['C4', { key: 'Home' }, 'A4'],
    ['C4', { key: 'End' }, 'E4'],
    ['C4', { key: 'Home', ctrlKey: true }, 'A1'],
    ['C4', { key: 'End', ctrlKey: true }, 'E12'],
    ['C4', { key: 'PageUp' }, 'C1'],
    ['C4', { key: 'PageDown' }, 'C12'],
    ['C4', { key: 'ArrowDown', ctrlKey: true }, 'C12'],
    ['C4', { key: 'ArrowLeft', altKey: true }, undefined],
    ['C4', { key: 'Tab' }, undefined],
    ['C4', { key: 'a' }, undefined]
  ]
  for (const [cell, key, next] of cases) assert.equal(cellAfter(cell, key), next, `${cell} ${JSON.stringify(key)}`)
})

test('letters and the keys of input methods begin to write, shortcuts do not', () => {
  for (const key of ['a', 'Ä', '語', ' ', '=', '😀', 'Dead', 'Process']) assert.equal(isWriting({ key }), true, key)
  for (const key of ['Shift', 'F5', 'Tab', 'Escape']) assert.equal(isWriting({ key }), false, key)
  assert.equal(isWriting({ key: 'c', ctrlKey: true }), false)
  assert.equal(isWriting({ key: 'v', metaKey: true }), false)
})
