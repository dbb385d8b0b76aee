import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })
const record = (/** @type {number} */ offset) => ({ event: 'message', payload: offset, meta: { guid: 'doc', offset } })

/**
 * A second Document with its newest records, which are not read yet.
 * @param {import('node:test').TestContext} t
 */
async function openedTwice (t) {
  const time = clientTime(t)
  const scripted = scriptedClient(t)
  await openDoc(scripted, at(5))
  const doc = await scripted.client.open('doc', { last: 2 })
  /** @type {any[]} */
  const seen = []
  doc.on('message', (payload) => { seen.push(payload) })
  doc.on('resync', (resync) => { seen.push(resync) })
  const pass = async (/** @type {number} */ ms) => {
    time.advance(ms)
    await settle()
  }
  await settle()
  return { ...scripted, seen, pass }
}

describe('the newest records of a second Document', () => {
  test('arrive after the gateway has refused the client meanwhile', async (t) => {
    const { client, socket, seen, pass } = await openedTwice(t)
    socket.disconnects('transport close')
    await pass(1)
    await pass(1000)
    socket.refuses({ code: 'kicked', retryable: false })
    await pass(1000)
    client.connect()
    socket.accepts()
    socket.tells('message', 6, { guid: 'doc', offset: 6 })
    socket.tells('doc:joined', { guid: 'doc', position: at(6), recovered: true })
    await pass(2000)
    socket.last('doc:history').answer({ ok: true, records: [record(5), record(6)], position: at(6), more: false })
    await pass(1)
    assert.deepEqual([client.state, seen], ['connected', [5, 6]])
  })

  test('are reported as missing when the gateway does not give them', async (t) => {
    const { socket, seen, pass } = await openedTwice(t)
    socket.tells('message', 6, { guid: 'doc', offset: 6 })
    socket.last('doc:history').answer({ ok: false, error: { code: 'internal', message: 'failed', retryable: false } })
    await pass(1)
    assert.deepEqual(seen, [6, { position: at(6), reason: 'trimmed' }])
  })
})
