import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

describe('a join without a response in time', () => {
  /** @param {import('node:test').TestContext} t */
  async function unanswered (t) {
    const time = clientTime(t)
    const scripted = scriptedClient(t)
    scripted.socket.accepts()
    const opening = scripted.client.open('doc', { position: at(5) })
    scripted.socket.last('doc:join').lose()
    await settle()
    return { ...scripted, opening, time }
  }

  test('is repeated with the current position: the gateway may still be processing it, and sends no record twice', async (t) => {
    const { socket, opening, time } = await unanswered(t)
    socket.tells('message', 'six', { guid: 'doc', offset: 6 })
    time.advance(1000)
    assert.deepEqual(socket.last('doc:join').argument, { guid: 'doc', position: at(6) })
    socket.tells('message', 'seven', { guid: 'doc', offset: 7 })
    socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(7), recovered: true })
    const doc = await opening
    /** @type {any[]} */
    const seen = []
    doc.on('message', (payload) => { seen.push(payload) })
    time.advance(1)
    assert.deepEqual(seen, ['six', 'seven'])
    assert.deepEqual(doc.position, at(7))
  })

  test('is left if the document is closed before the retry', async (t) => {
    const { socket, opening, time } = await unanswered(t)
    time.advance(1000)
    socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(5), recovered: true })
    const doc = await opening
    socket.disconnects('transport close')
    time.advance(1000)
    socket.accepts()
    socket.tells('doc:refused', { guid: 'doc', error: { code: 'unavailable', message: 'not now', retryable: true } })
    time.advance(1000)
    socket.last('doc:join').lose()
    await settle()
    doc.close()
    assert.deepEqual(socket.last('doc:leave').argument, { guid: 'doc' })
  })
})

describe('a join that the gateway refuses for a time', () => {
  /**
   * Counts the requests to join that follow a refusal of the handshake's document.
   * @param {import('node:test').TestContext} t
   * @param {number} retryInMs
   */
  function refused (t, retryInMs) {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    client.open('doc').catch(() => {})
    socket.accepts()
    socket.tells('doc:refused', { guid: 'doc', error: { code: 'unavailable', message: 'not now', retryable: true, retryInMs } })
    return { socket, time, joins: () => socket.sent.filter(({ event }) => event === 'doc:join').length }
  }

  test('is repeated after the gateway\'s delay, not before', async (t) => {
    const { socket, joins, time } = refused(t, 3000)
    time.advance(2999)
    assert.equal(joins(), 0)
    time.advance(1)
    assert.equal(joins(), 1)
    socket.last('doc:join').answer({
      ok: false, error: { code: 'rate_limited', message: 'too many', retryable: true, retryInMs: 9000 }
    })
    await settle()
    time.advance(8999)
    assert.equal(joins(), 1)
    time.advance(1)
    assert.equal(joins(), 2)
  })

  test('is repeated after the client\'s own pause if the gateway\'s delay is shorter', (t) => {
    const { joins, time } = refused(t, 1)
    time.advance(99)
    assert.equal(joins(), 0)
    time.advance(901)
    assert.equal(joins(), 1)
  })
})
