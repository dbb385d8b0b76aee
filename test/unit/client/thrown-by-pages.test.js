import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDoc, scriptedClient } from '../../helpers/scripted-socket.js'

test('an `onReason` that throws does not affect other Documents, and its error is reported', async (t) => {
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  /** @type {unknown[]} */
  const thrown = []
  const failure = new Error('an error of the page')
  const first = await openDoc(scripted, { epoch: 'e', offset: 5 }, { onReason: () => { throw failure } })
  const second = await client.open('doc')
  /** @type {any[]} */
  const seen = []
  for (const doc of [first, second]) doc.on('doc:status', (status) => { seen.push([doc === first, status]) })
  t.mock.method(globalThis, 'queueMicrotask', (/** @type {() => void} */ task) => {
    try { task() } catch (error) { thrown.push(error) }
  })
  socket.tells('doc:closed', { guid: 'doc' })
  assert.deepEqual(seen, [[true, 'closed'], [false, 'closed']])
  assert.deepEqual(thrown, [failure])
})
