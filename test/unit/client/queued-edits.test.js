import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
// loaded on demand
import '../../../client/outbox/index.js'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const JOINED = { guid: 'doc', position: { epoch: 'e', offset: 5 }, recovered: false }

/**
 * Opens `doc` without a connection, with an outbox that opens.
 * @param {import('node:test').TestContext} t
 */
async function openQueueing (t) {
  const time = clientTime(t)
  const scripted = scriptedClient(t, { outbox: { user: 'ada', store: memoryStore() } })
  const doc = await scripted.client.open('doc', { offline: true })
  const sent = () => scripted.socket.sent.filter(({ event }) => event === 'doc:send').map(({ argument }) => argument.data)
  return { ...scripted, time, doc, sent }
}

describe('queued edits', () => {
  test('of a document that a listener to its join closes are not sent, until it is open again', async (t) => {
    const { client, socket, time, doc, sent } = await openQueueing(t)
    await settle()
    doc.send('edit', { queue: true }).catch(() => {})
    await settle()
    doc.on('joined', () => doc.close())
    time.advance(1)
    socket.accepts()
    socket.tells('doc:joined', JOINED)
    time.advance(60_000)
    await settle()
    assert.deepEqual(sent(), [])
    socket.last('doc:leave').answer({ ok: true, guid: 'doc' })
    const again = client.open('doc')
    await settle()
    socket.last('doc:join').answer({ ok: true, ...JOINED })
    await again
    await settle()
    assert.deepEqual(sent(), ['edit'])
  })

  for (const state of ['opens', 'is open']) {
    test(`are sent as they were when they were queued, while the outbox ${state}`, async (t) => {
      const { socket, doc, sent } = await openQueueing(t)
      if (state === 'is open') await settle()
      const batch = [1, 2]
      doc.send(batch, { queue: true }).catch(() => {})
      batch.length = 0
      await settle()
      socket.accepts()
      socket.tells('doc:joined', JOINED)
      await settle()
      assert.deepEqual(sent(), [[1, 2]])
    })
  }

  test('that cannot be stored are rejected also while the outbox opens', async (t) => {
    const { doc } = await openQueueing(t)
    await assert.rejects(doc.send(() => {}, { queue: true }), { code: 'storage_failed' })
  })
})
