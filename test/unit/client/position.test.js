import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })

test('a document continues after records that were not for this client', async (t) => {
  clientTime(t)
  const { client, socket } = scriptedClient(t)
  const doc = await openDoc({ client, socket }, at(5))
  for (const position of [at(26), at(20), at(99, 'another log')])
    socket.tells('doc:position', { guid: 'doc', position })
  assert.deepEqual(doc.position, at(26))
  client.drop(1000)
  client.connect()
  socket.accepts()
  assert.deepEqual(socket.handshakes.at(-1).documents, { doc: at(26) })
})
