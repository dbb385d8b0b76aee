import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDocumentStore } from '../../../client/stores/document-store.js'
import { scriptedClient } from '../../helpers/scripted-socket.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * A document whose loop is too far behind, as client/document/turns.js says it.
 * @param {object} options of useDocument
 */
function behind (options) {
  let reloads = 0
  const doc = {
    status: 'live',
    pending: [],
    on () {},
    close () {},
    async reload () { reloads++ },
    async* [Symbol.asyncIterator] () {
      yield { event: 'resync', payload: { reason: 'overflow' } }
      await new Promise(() => {})
    }
  }
  const store = createDocumentStore(
    /** @type {any} */ ({ on: () => () => {}, open: async () => doc }), 'doc', /** @type {any} */ ({ current: options }), undefined
  )
  return { store, reloads: () => reloads }
}

test('a page that cannot follow loads its document again', async (t) => {
  /** @type {string[]} */
  const reasons = []
  const { store, reloads } = behind({
    load: async () => ({}), reduce: () => ({}), onResync: (/** @type {any} */ { reason }) => reasons.push(reason)
  })
  t.after(store.subscribe(() => {}))
  await waitFor(() => reloads() === 1)
  assert.deepEqual(reasons, ['overflow'])
  assert.equal(store.snapshot().error, null)
})

test('without `load` and `onResync` that is an error', async (t) => {
  const { store, reloads } = behind({ reduce: () => ({}) })
  t.after(store.subscribe(() => {}))
  await waitFor(() => store.snapshot().error)
  assert.match(String(store.snapshot().error), /records are missing/)
  assert.equal(reloads(), 0)
})

test('a document opens when a refused client is connected again, also by a listener to the refusal', async (t) => {
  const { client, socket } = scriptedClient(t)
  client.on('state', (state) => { if (state === 'refused') client.connect() })
  const store = createDocumentStore(client, 'doc', { current: {} }, undefined)
  t.after(store.subscribe(() => {}))
  socket.refuses({ code: 'kicked', retryable: false })
  await waitFor(() => store.snapshot().error)
  socket.accepts()
  await waitFor(() => socket.sent.length > 0, { message: () => store.snapshot().status })
  socket.last('doc:join').answer({ ok: true, guid: 'doc', position: { epoch: 'e', offset: 1 }, recovered: false })
  await waitFor(() => store.snapshot().status === 'live', { message: () => store.snapshot().status })
  assert.equal(store.snapshot().error, null)
})
