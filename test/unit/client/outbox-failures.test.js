import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOutbox } from '../../../client/outbox/index.js'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const JOINED = { guid: 'doc', position: { epoch: 'e', offset: 5 }, recovered: false }

/**
 * Opens `doc` without a connection, with a store that fails when the outbox opens.
 * @param {import('node:test').TestContext} t
 */
async function openFailing (t) {
  const kept = memoryStore()
  const store = { ...kept, load: async () => { throw new Error('a transient failure') } }
  const scripted = scriptedClient(t, { outbox: { user: 'ada', store } })
  const doc = await scripted.client.open('doc', { offline: true })
  await settle()
  return {
    ...scripted,
    kept,
    doc,
    repair: () => { Object.assign(store, kept) },
    join () {
      scripted.socket.accepts()
      scripted.socket.tells('doc:joined', JOINED)
    },
    sent: () => scripted.socket.sent.filter(({ event }) => event === 'doc:send').map(({ argument }) => argument.data)
  }
}

describe('an outbox that could not be opened', () => {
  test('is opened by the next queued edit, and sends it if the document is joined', async (t) => {
    const { doc, socket, repair, join, sent } = await openFailing(t)
    join()
    await settle()
    await assert.rejects(doc.send('lost', { queue: true }), { code: 'storage_failed' })
    repair()
    const accepted = doc.send('kept', { queue: true })
    await settle()
    socket.last('doc:send').answer({ ok: true, traceId: 't' })
    assert.deepEqual(await accepted, { traceId: 't' })
    assert.deepEqual(sent(), ['kept'])
  })

  test('is opened by the next join, and sends what an earlier page left', async (t) => {
    const { doc, kept, repair, join, sent } = await openFailing(t)
    await kept.add('["http://gateway","ada","doc"]', '1-earlier', { seq: 1, data: 'left' })
    repair()
    join()
    await settle()
    assert.deepEqual([sent(), doc.pending.map(({ data }) => data)], [['left'], ['left']])
  })

  test('is closed again if the document was closed while it opened', async (t) => {
    const { client, doc, socket, repair, join } = await openFailing(t)
    repair()
    const opening = doc.send('late', { queue: true })
    doc.close()
    await assert.rejects(opening, { code: 'closed' })
    const again = await client.open('doc', { offline: true })
    join()
    const accepted = again.send('kept', { queue: true })
    await settle()
    socket.last('doc:send').answer({ ok: true, traceId: 't' })
    await accepted
    assert.deepEqual(again.pending, [])
  })

  test('gives back the names that it had taken', async () => {
    /** @type {AbortSignal[]} */
    const taken = []
    const kept = memoryStore()
    let loads = 0
    const outbox = createOutbox({
      url: 'http://gateway',
      user: 'ada',
      store: { ...kept, load: async (key) => ++loads === 2 ? Promise.reject(new Error('a transient failure')) : kept.load(key) },
      lock: async (_name, signal) => taken.push(signal) > 0,
      log: () => {}
    })
    const opening = outbox.open({
      guid: 'doc', joined: false, inboxes: new Set(), link: { connection: { check: () => {} } }, pending: () => [], ask: async () => {}
    })
    await assert.rejects(opening, /transient/)
    assert.deepEqual(taken.map(({ aborted }) => aborted), [true])
  })
})
