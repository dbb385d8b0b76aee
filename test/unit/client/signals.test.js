import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })

/** @param {import('node:test').TestContext} t */
async function opened (t) {
  const time = clientTime(t)
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, at(5))
  const { socket } = scripted
  return {
    ...scripted,
    doc,
    /** Data of all signals sent. */
    sent: () => socket.sent.filter(({ event }) => event === 'doc:signal').map(({ argument }) => argument.data),
    pass: (/** @type {number} */ ms) => time.advance(ms)
  }
}

describe('signals', () => {
  test('are combined: the first one is sent at once, then every 50 ms the newest of each name', async (t) => {
    const { doc, sent, pass } = await opened(t)
    for (let i = 0; i < 10; i++) {
      assert.equal(doc.signal('cursor', i), true)
      if (i === 2) doc.signal('laser', 'on')
      pass(10)
    }
    pass(200)
    doc.signal('cursor', 'later')
    assert.deepEqual(sent(), [0, 4, 'on', 9, 'later'])
  })

  test('are all sent without `combine`', async (t) => {
    const { doc, sent } = await opened(t)
    for (let i = 0; i < 3; i++) doc.signal('wave', i, { combine: false })
    assert.deepEqual(sent(), [0, 1, 2])
  })

  test('are not sent after the connection was lost', async (t) => {
    const { doc, socket, sent, pass } = await opened(t)
    doc.signal('cursor', 1)
    doc.signal('cursor', 2)
    socket.disconnects('transport close')
    pass(100)
    assert.equal(doc.signal('cursor', 3), false)
    assert.deepEqual(sent(), [])
  })

  test('are refused after the document was closed', async (t) => {
    const { doc, sent, pass } = await opened(t)
    doc.signal('cursor', 1)
    doc.signal('cursor', 2)
    doc.close()
    pass(100)
    assert.equal(doc.signal('cursor', 3), false)
    assert.deepEqual(sent(), [1])
  })
})

describe('a client that may only read', () => {
  test('cannot signal, from the first call on, if the gateway says so with the join', async (t) => {
    const { client, socket } = scriptedClient(t)
    const opening = client.open('doc')
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false, access: 'read' })
    const doc = await opening
    assert.equal(doc.signal('cursor', 1), false)
    assert.ok(!socket.sent.some(({ event }) => event === 'doc:signal'))
  })

  test('knows it from `readOnly`, until a later join allows writing', async (t) => {
    const { client, socket } = scriptedClient(t)
    const opening = client.open('doc')
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false, access: 'read', signals: true })
    const doc = await opening
    assert.equal(doc.readOnly, true)
    assert.equal(doc.signal('cursor', 1), true, 'rules may allow signals to everybody')
    socket.disconnects('transport close')
    client.connect()
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: true })
    assert.equal(doc.readOnly, false)
  })

  test('cannot signal after the gateway has refused the first one, until the next join', async (t) => {
    const { client, doc, socket } = await opened(t)
    assert.equal(doc.signal('cursor', 1), true)
    socket.last('doc:signal').answer({ ok: false, error: { code: 'forbidden', message: 'not allowed', retryable: false } })
    await settle()
    assert.equal(doc.signal('laser', 2), false)
    socket.disconnects('transport close')
    client.connect()
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: true })
    assert.equal(doc.signal('laser', 3), true, 'a newer token may allow it')
  })
})
