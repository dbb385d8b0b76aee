import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

/**
 * A client with one document, joined at offset 5.
 * @param {import('node:test').TestContext} t
 * @param {import('../../../client/index.js').OpenOptions} [options]
 */
async function opened (t, options) {
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, at(5), options)
  return {
    ...scripted,
    doc,
    back () {
      scripted.client.connect()
      scripted.socket.accepts()
    }
  }
}

describe('the state of a member', () => {
  test('is the last accepted one: a refused state is dropped', async (t) => {
    for (const code of ['state_too_large', 'bad_request']) {
      const { client, socket, doc, back } = await opened(t, { state: { color: 'red' } })
      const refused = doc.setState({ color: 'x'.repeat(5000) })
      socket.last('doc:state').answer({ ok: false, error: { code, message: 'no', retryable: false } })
      await assert.rejects(refused, { code })
      client.drop(1000)
      back()
      assert.deepEqual(socket.handshakes[1].documents, { doc: { ...at(5), state: { color: 'red' } } })
    }
  })

  test('does not participate in the presence because of a refused state', async (t) => {
    const { client, socket, doc, back } = await opened(t)
    const refused = doc.setState({ color: 'x'.repeat(5000) })
    await settle()
    socket.last('doc:state').answer({ ok: false, error: { code: 'state_too_large', message: 'no', retryable: false } })
    await assert.rejects(refused, { code: 'state_too_large' })
    client.drop(1000)
    back()
    assert.deepEqual(socket.handshakes[1].documents, { doc: at(5) })
  })

  test('keeps a later value when an earlier one is refused', async (t) => {
    const { client, socket, doc, back } = await opened(t, { state: { color: 'red' } })
    const refused = doc.setState({ color: 'x'.repeat(5000) })
    const first = socket.last('doc:state')
    const taken = doc.setState({ color: 'blue' })
    first.answer({ ok: false, error: { code: 'state_too_large', message: 'no', retryable: false } })
    await assert.rejects(refused, { code: 'state_too_large' })
    socket.last('doc:state').answer({ ok: true, guid: 'doc' })
    await taken
    client.drop(1000)
    back()
    assert.deepEqual(socket.handshakes[1].documents, { doc: { ...at(5), state: { color: 'blue' } } })
  })

  test('stays open when a state is refused that was set while the connection was lost', async (t) => {
    const { client, socket, doc, back } = await opened(t, { state: { color: 'red' } })
    client.drop(1000)
    const refused = doc.setState({ color: 'x'.repeat(5000) })
    back()
    socket.tells('doc:refused', { guid: 'doc', error: { code: 'state_too_large', message: 'no', retryable: false } })
    assert.deepEqual(socket.last('doc:join').argument, { guid: 'doc', position: at(5), state: { color: 'red' } })
    socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(5), recovered: true })
    await settle()
    socket.last('doc:state').answer({ ok: false, error: { code: 'state_too_large', message: 'no', retryable: false } })
    await assert.rejects(refused, { code: 'state_too_large' })
    assert.equal(doc.live, true)
  })

  test('is sent after the handshake if it is large, because handshakes are limited', async (t) => {
    const { client, socket } = scriptedClient(t)
    const states = { one: 'x'.repeat(20_000), two: 'x'.repeat(20_000), three: 'x' }
    for (const [guid, text] of Object.entries(states)) client.open(guid, { state: { text } }).catch(() => {})
    await settle()
    socket.accepts()
    assert.deepEqual(Object.keys(socket.handshakes[0].documents), ['one', 'three'])
    assert.deepEqual(socket.sent.map(({ event, argument }) => [event, argument.guid]), [['doc:join', 'two']])
  })
})
