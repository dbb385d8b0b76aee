import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })
/** @param {import('../../helpers/scripted-socket.js').ScriptedSocket} socket @param {number} offset */
const tell = (socket, offset, event = 'message') => socket.tells(event, `at ${offset}`, { guid: 'doc', offset })

describe('a loop over the records of a document', () => {
  test('gets records of all names, and ends when the document is closed', async (t) => {
    const scripted = scriptedClient(t)
    const doc = await openDoc(scripted, at(5))
    tell(scripted.socket, 6)
    tell(scripted.socket, 7, 'edit')
    /** @type {unknown[]} */
    const seen = []
    for await (const { event, payload, meta } of doc) {
      seen.push([event, payload, meta?.offset])
      if (seen.length === 2) tell(scripted.socket, 8)
      if (seen.length === 3) doc.close()
    }
    assert.deepEqual(seen, [['message', 'at 6', 6], ['edit', 'at 7', 7], ['message', 'at 8', 8]])
  })

  test('gets a resync as a turn', async (t) => {
    const scripted = scriptedClient(t)
    const doc = await openDoc(scripted, at(5))
    scripted.socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    for await (const { event, payload } of doc) {
      assert.deepEqual([event, payload], ['resync', { position: at(9), reason: 'trimmed' }])
      break
    }
  })

  test('throws when the gateway ends the access, after the records before', async (t) => {
    const scripted = scriptedClient(t)
    const doc = await openDoc(scripted, at(5))
    tell(scripted.socket, 6)
    /** @type {unknown[]} */
    const seen = []
    const loop = async () => { for await (const { payload } of doc) seen.push(payload) }
    const failed = assert.rejects(loop, { code: 'forbidden' })
    await new Promise((resolve) => setTimeout(resolve, 5))
    scripted.socket.tells('doc:revoked', { guid: 'doc' })
    await failed
    assert.deepEqual(seen, ['at 6'])
    await assert.rejects(loop, { code: 'forbidden' })
  })

  test('that is slow gets one resync in place of more than 10,000 records', async (t) => {
    const scripted = scriptedClient(t)
    const doc = await openDoc(scripted, at(0))
    /** @type {unknown[]} */
    const seen = []
    tell(scripted.socket, 1)
    for await (const { event, payload } of doc) {
      seen.push(event === 'resync' ? payload.reason : payload)
      if (seen.length === 1) for (let offset = 2; offset <= 10_003; offset++) tell(scripted.socket, offset)
      if (seen.length === 3) break
    }
    assert.deepEqual(seen, ['at 1', 'overflow', 'at 10003'])
  })
})

test('`once` hears the next record only, and an aborted signal removes a listener', async (t) => {
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, at(5))
  /** @type {unknown[]} */
  const seen = []
  const abort = new AbortController()
  doc.once('message', (payload) => { seen.push(`once ${payload}`) })
  doc.on('message', (payload) => { seen.push(payload) }, { signal: abort.signal })
  await new Promise((resolve) => setTimeout(resolve, 5))
  tell(scripted.socket, 6)
  tell(scripted.socket, 7)
  abort.abort()
  tell(scripted.socket, 8)
  assert.deepEqual(seen, ['once at 6', 'at 6', 'at 7'])
})

test('`history` asks the gateway for the records before an offset', async (t) => {
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, at(5))
  const reading = doc.history({ before: 4, limit: 2 })
  await settle()
  const { argument, answer } = scripted.socket.last('doc:history')
  assert.deepEqual(argument, { guid: 'doc', before: 4, limit: 2 })
  const records = [{ event: 'message', payload: 1, meta: { guid: 'doc', offset: 3 } }]
  answer({ ok: true, guid: 'doc', records, position: at(5), more: true })
  assert.deepEqual(await reading, { records, position: at(5), more: true })
})
