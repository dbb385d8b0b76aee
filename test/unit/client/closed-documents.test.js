import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

test('a document can be opened again by a listener to its end', async (t) => {
  clientTime(t)
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  const docs = [await openDoc(scripted, at(5)), await client.open('doc')]
  const opened = docs.map((doc) => new Promise((resolve, reject) => {
    doc.on('closed', () => client.open('doc').then(resolve, reject))
  }))
  socket.tells('doc:closed', { guid: 'doc', code: 'moved' })
  await settle()
  socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(7), recovered: false })
  for (const again of await Promise.all(opened)) assert.deepEqual([again.status, again.position], ['live', at(7)])
})
