import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  applyEvent, createDocument, isDocumentEvent, LIMITS, Refusal
} from '../../../examples/document-service/document.js'

/** @param {string} event @param {unknown} data */
const asked = (event, data) => ({ event, data, uid: 'ada', traceId: 'trace', timestamp: 1000 })

test('each change has the next version, and names its request', () => {
  const document = createDocument()
  const first = applyEvent(document, asked('sheet:edit', { id: 'a:1', cells: { B2: 'Grace', C2: '7' } }))
  assert.deepEqual(first, { version: 1, id: 'a:1', by: 'ada', traceId: 'trace', cells: { B2: 'Grace', C2: '7' } })
  const second = applyEvent(
    document,
    asked('sheet:comment', { id: 'a:2', text: 'good', name: 'Ada', color: '#1d3557', cell: 'C2' })
  )
  assert.deepEqual(second.comment, { id: 'a:2', text: 'good', name: 'Ada', color: '#1d3557', cell: 'C2', at: 1000 })
  const third = applyEvent(document, asked('sheet:resolve', { id: 'a:3', comment: 'a:2' }))
  assert.equal(third.resolved, 'a:2')
  assert.deepEqual([document.version, document.cells.B2, document.cells.C2, document.comments], [3, 'Grace', '7', []])
})

test('an edit says which version its author saw', () => {
  const document = createDocument()
  const change = applyEvent(document, asked('sheet:edit', { id: 'a:1', cells: { B2: 'Grace' }, base: 0 }))
  assert.deepEqual(change, { version: 1, id: 'a:1', by: 'ada', traceId: 'trace', cells: { B2: 'Grace' }, base: 0 })
})

test('a reset restores the first state with the next version', () => {
  const document = createDocument()
  applyEvent(document, asked('sheet:edit', { id: 'a:1', cells: { B2: 'Grace', A2: '' } }))
  applyEvent(document, asked('sheet:comment', { id: 'a:2', text: 'x', name: 'Ada', color: '#1d3557' }))
  const { version, reset } = applyEvent(document, asked('sheet:reset', { id: 'a:3' }))
  const { title, cells, comments } = createDocument()
  assert.deepEqual({ version, reset }, { version: 3, reset: { title, cells, comments } })
  assert.deepEqual(document, { version: 3, title, cells, comments })
  // what is published does not change with the document
  applyEvent(document, asked('sheet:edit', { id: 'a:4', cells: { B2: 'Alan' } }))
  assert.equal(reset?.cells.B2, cells.B2)
})

test('an empty text empties a cell', () => {
  const document = createDocument()
  applyEvent(document, asked('sheet:edit', { id: '1', cells: { A2: '' } }))
  assert.equal('A2' in document.cells, false)
})

test('the oldest comments are removed when there are too many', () => {
  const document = createDocument()
  for (let i = 0; i < 250; i++)
    applyEvent(document, asked('sheet:comment', { id: String(i), text: 'x', name: 'Ada', color: '#1d3557' }))
  assert.deepEqual([document.comments.length, document.comments[0].id, document.version], [200, '50', 250])
})

describe('changes outside the limits are refused, without an effect', () => {
  const comment = { id: '1', text: 'x', name: 'Ada', color: '#1d3557' }
  /** @type {[string, string, unknown, string][]} */
  const cases = [
    ['no object', 'sheet:edit', 'text', 'bad_data'],
    ['no data', 'sheet:edit', null, 'bad_data'],
    ['no id', 'sheet:edit', { cells: { A1: 'x' } }, 'bad_data'],
    ['a long id', 'sheet:edit', { id: 'x'.repeat(LIMITS.id + 1), cells: { A1: 'x' } }, 'bad_data'],
    ['no cells', 'sheet:edit', { id: '1', cells: {} }, 'bad_data'],
    [
      'too many cells',
      'sheet:edit',
      { id: '1', cells: Object.fromEntries(Array.from({ length: LIMITS.cellsAtOnce + 1 }, (_, i) => [`A${i}`, 'x'])) },
      'bad_data'
    ],
    ['an unknown cell', 'sheet:edit', { id: '1', cells: { A1: 'x', F1: 'x' } }, 'no_such_cell'],
    ['an unknown row', 'sheet:edit', { id: '1', cells: { A1: 'x', A13: 'x' } }, 'no_such_cell'],
    [
      'a cell named like an object\'s property',
      'sheet:edit',
      { id: '1', cells: JSON.parse('{"__proto__":"x"}') },
      'no_such_cell'
    ],
    ['a number', 'sheet:edit', { id: '1', cells: { A1: 'x', A2: 1 } }, 'bad_data'],
    ['a long text', 'sheet:edit', { id: '1', cells: { A1: 'x', A2: 'x'.repeat(LIMITS.text + 1) } }, 'too_long'],
    ['a base that is no version', 'sheet:edit', { id: '1', cells: { A1: 'x' }, base: 'x' }, 'bad_data'],
    ['an empty comment', 'sheet:comment', { ...comment, text: ' ' }, 'bad_data'],
    ['a long comment', 'sheet:comment', { ...comment, text: 'x'.repeat(LIMITS.comment + 1) }, 'bad_data'],
    ['no name', 'sheet:comment', { ...comment, name: '' }, 'bad_data'],
    ['a color with additional CSS', 'sheet:comment', { ...comment, color: 'red;background:url(x)' }, 'bad_data'],
    ['a comment on an unknown cell', 'sheet:comment', { ...comment, cell: 'Z1' }, 'no_such_cell'],
    ['a comment that was resolved', 'sheet:resolve', { id: '1', comment: '2' }, 'no_such_comment'],
    ['another event', 'sheet:burn', { id: '1' }, 'unknown_event']
  ]
  for (const [name, event, data, code] of cases) {
    test(name, () => {
      const document = createDocument()
      assert.throws(
        () => applyEvent(document, asked(event, data)),
        (error) => error instanceof Refusal && error.code === code
      )
      assert.deepEqual(document, createDocument())
    })
  }
})

test('a comment is accepted once', () => {
  const document = createDocument()
  const comment = asked('sheet:comment', { id: '1', text: 'x', name: 'Ada', color: '#1d3557' })
  applyEvent(document, comment)
  assert.throws(() => applyEvent(document, comment), { code: 'bad_data', id: '1' })
  assert.equal(document.comments.length, 1)
})

test('other events are ignored', () => {
  assert.deepEqual(['sheet:edit', 'message', 'toString', undefined].map(isDocumentEvent), [true, false, false, false])
})
