import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS, transportOf } from '../../helpers/behind-balancer.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {import('node:test').TestContext} t */
async function startRoom (t) {
  const server = await startEmbedded(t)
  const clients = await Promise.all(KINDS.map((kind) => connectClient(t, server.url, kind)))
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'room' })).ok, true)
  await waitFor(() => clients.every((client, i) => transportOf(client) === KINDS[i].transports.at(-1)), {
    message: 'the upgrades'
  })
  return { clients, room: server.gateway.io.to('doc:room') }
}

test('events of an extension to the room of a document reach members of both codecs', async (t) => {
  const { clients, room } = await startRoom(t)
  /** @type {unknown[][]} */
  const got = clients.map(() => [])
  clients.forEach((client, i) => client.on('notice', (...args) => got[i].push(args)))
  room.emit('notice', { text: 'größer' }, [1, null, true])
  room.emit('notice', { bytes: Buffer.from([0, 1, 255]) })
  room.volatile.emit('notice', 3)
  await waitFor(() => got.every((list) => list.length >= 2), { message: () => got })
  for (const [first, second] of got) {
    assert.deepEqual(first, [{ text: 'größer' }, [1, null, true]])
    assert.deepEqual([...(/** @type {any} */ (second))[0].bytes], [0, 1, 255])
  }
  assert.deepEqual(clients.map(({ connected }) => connected), clients.map(() => true))
})

test('an extension gets acknowledgements of members of both codecs', async (t) => {
  const { clients, room } = await startRoom(t)
  clients.forEach((client, i) =>
    client.on('question', (/** @type {number} */ n, /** @type {Function} */ answer) => answer({ i, n }))
  )
  const answers = await room.timeout(5000).emitWithAck('question', 7)
  assert.deepEqual(
    answers.sort((/** @type {any} */ a, /** @type {any} */ b) => a.i - b.i),
    clients.map((_, i) => ({ i, n: 7 }))
  )
})
