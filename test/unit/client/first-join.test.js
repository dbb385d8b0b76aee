import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

/**
 * A document that is opened offline, with listeners, and whose first join is in progress.
 * @param {import('node:test').TestContext} t
 */
async function joining (t) {
  const time = clientTime(t)
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  const doc = await client.open('doc', { offline: true })
  /** @type {any[]} */
  const seen = []
  doc.on('message', (payload, { epoch, offset }) => { seen.push([payload, epoch, offset]) })
  doc.on('joined', ({ position: { offset } }) => { seen.push(`joined ${offset}`) })
  time.advance(1)
  socket.accepts()
  const record = (/** @type {number} */ offset) => socket.tells('message', offset, { guid: 'doc', offset })
  const joined = (/** @type {number} */ offset) =>
    socket.tells('doc:joined', { guid: 'doc', position: at(offset), recovered: false })
  return { ...scripted, doc, seen, record, joined }
}

describe('records that arrive before the answer to the first join of a document', () => {
  test('reach its listeners with the epoch of the log, in which their offsets count', async (t) => {
    const { seen, record, joined } = await joining(t)
    record(8)
    joined(8)
    record(9)
    assert.deepEqual(seen, [[8, 'e', 8], 'joined 8', [9, 'e', 9]])
  })

  test('do not reach its listeners if the connection is lost first: others may precede those of the next join', async (t) => {
    const { client, socket, doc, seen, record, joined } = await joining(t)
    record(8)
    socket.disconnects('transport close')
    client.connect()
    socket.accepts()
    joined(12)
    record(13)
    assert.deepEqual(seen, ['joined 12', [13, 'e', 13]])
    assert.deepEqual(doc.position, at(13))
  })

  test('are not held any more if the gateway has sent the position first, and the next join continues from it', async (t) => {
    const { client, socket, seen, record, joined } = await joining(t)
    socket.tells('doc:position', { guid: 'doc', position: at(7) })
    record(8)
    socket.disconnects('transport close')
    client.connect()
    socket.accepts()
    assert.deepEqual(socket.handshakes.at(-1).documents, { doc: at(8) })
    record(9)
    joined(9)
    assert.deepEqual(seen, [[8, 'e', 8], [9, 'e', 9], 'joined 9'])
  })
})
