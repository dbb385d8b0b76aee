import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEdits } from '../../../packages/demo/page/js/edits.js'
import { Model } from '../../../packages/demo/page/js/model.js'

/** @param {Record<string, string>} [cells] */
function modelWith (cells = {}) {
  const model = new Model()
  model.load({ version: 3, title: 'Plan', cells, comments: [] })
  return model
}

test('changes are applied in the order of their versions, each once', () => {
  const model = modelWith({ A1: 'x' })
  assert.equal(
    model.apply([
      { version: 3, id: 'b:1', cells: { A1: 'old' } },
      { version: 4, id: 'b:2', cells: { A1: 'y', B1: 'z' } }
    ]),
    true
  )
  assert.deepEqual([model.version, model.text('A1'), model.text('B1'), model.duplicates], [4, 'y', 'z', 1])
})

test('after a missing change the document has to be loaded again, and stays unchanged until then', () => {
  const model = modelWith({ A1: 'x' })
  assert.equal(model.apply([{ version: 5, id: 'b:1', cells: { A1: 'y' } }]), false)
  assert.deepEqual([model.version, model.text('A1')], [3, 'x'])
})

test('own text stays until the service has confirmed it, regardless of changes by others', () => {
  const model = modelWith({ A1: 'x' })
  model.type('A1', 'mine')
  model.pending.set('A1', { id: 'me:1', text: 'mine' })
  model.apply([{ version: 4, id: 'b:1', cells: { A1: 'theirs' } }])
  assert.equal(model.text('A1'), 'mine')
  model.apply([
    { version: 5, id: 'me:1', cells: { A1: 'mine' } },
    { version: 6, id: 'b:2', cells: { A1: 'theirs again' } }
  ])
  assert.deepEqual([model.text('A1'), model.pending.size], ['theirs again', 0])
})

test('a reloaded document has the sent text; unsent text stays', () => {
  const model = modelWith()
  model.pending.set('A1', { id: 'me:1', text: 'sent' })
  model.type('B1', 'not sent')
  model.load({ version: 9, title: 'Plan', cells: { A1: 'of the service' }, comments: [] })
  assert.deepEqual([model.text('A1'), model.text('B1')], ['of the service', 'not sent'])
})

test('refused text disappears', () => {
  const model = modelWith({ A1: 'x' })
  model.pending.set('A1', { id: 'me:1', text: 'too long' })
  /** @type {string[]} */
  const shown = []
  model.addEventListener('cells', (event) => { shown.push(...(/** @type {CustomEvent} */ (event).detail.cells)) })
  model.refuse('me:1')
  assert.deepEqual([model.text('A1'), shown], ['x', ['A1']])
})

test('comments are added and removed', () => {
  const model = modelWith()
  const comment = { id: 'c', text: 'hm', name: 'Ada', color: '#1d3557', at: 1 }
  model.apply([{ version: 4, id: 'b:1', comment }])
  assert.deepEqual(model.comments, [comment])
  model.apply([{ version: 5, id: 'b:2', resolved: 'c' }])
  assert.deepEqual(model.comments, [])
})

test('a reset brings the first state back, with its version', () => {
  const model = modelWith({ A1: 'x' })
  model.type('B1', 'not sent')
  const reset = { title: 'Plan', cells: { A1: 'first' }, comments: [] }
  assert.equal(model.apply([{ version: 4, id: 'b:1', reset }, { version: 5, id: 'b:2', cells: { C1: 'z' } }]), true)
  assert.deepEqual(
    [model.version, model.text('A1'), model.text('B1'), model.text('C1')],
    [5, 'first', 'not sent', 'z']
  )
})

test('without a document service changes have no version and are applied as they arrive', () => {
  const model = modelWith()
  assert.equal(model.apply([{ id: 'b:1', cells: { A1: 'y' } }]), true)
  assert.deepEqual([model.version, model.text('A1')], [3, 'y'])
})

/** @param {Model} model */
function startEdits (model) {
  /** @type {{ data: any, resolve: (value?: unknown) => void, reject: (error: unknown) => void }[]} */
  const requests = []
  let ids = 0
  const edits = createEdits({
    model, newId: () => `me:${++ids}`, onSent () {},
    send: (_event, data) => new Promise((resolve, reject) => { requests.push({ data, resolve, reject }) })
  })
  return { ...edits, requests }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a request names the version that its page shows', () => {
  const model = modelWith()
  const { type, requests } = startEdits(model)
  type('A1', 'a')
  assert.deepEqual(requests.map(({ data }) => data.base), [3])
})

test('letters typed during a pending request are sent together', async () => {
  const model = modelWith()
  const { type, requests } = startEdits(model)
  type('A1', 'a')
  type('A1', 'ab')
  type('A1', 'abc')
  type('B1', 'x')
  assert.deepEqual(requests.map(({ data }) => data.cells), [{ A1: 'a' }])
  requests[0].resolve()
  await turn()
  assert.deepEqual(requests.map(({ data }) => data.cells), [{ A1: 'a' }, { A1: 'abc', B1: 'x' }])
  requests[1].resolve()
  await turn()
  assert.equal(requests.length, 2)
})

test('text that cannot be sent is sent later, in its then current form', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const model = modelWith()
  const { type, requests } = startEdits(model)
  type('A1', 'a')
  requests[0].reject(Object.assign(new Error('disconnected'), { retryable: true }))
  await turn()
  type('A1', 'ab')
  t.mock.timers.tick(1000)
  await turn()
  assert.deepEqual(requests.map(({ data }) => data.cells), [{ A1: 'a' }, { A1: 'ab' }])
})

test('text that the gateway refuses is given up', async () => {
  const model = modelWith({ A1: 'x' })
  const { type, requests } = startEdits(model)
  type('A1', 'forbidden')
  requests[0].reject(Object.assign(new Error('forbidden'), { retryable: false }))
  await turn()
  assert.deepEqual([requests.length, model.text('A1')], [1, 'x'])
})
