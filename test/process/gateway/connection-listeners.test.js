import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const server = await startEmbedded(t)
  /** @type {unknown[][]} */
  const told = []
  server.gateway.connectionListeners.add({
    connected: ({ uid }) => told.push([uid, 'connected']),
    joined: ({ uid }, guid, state) => told.push([uid, 'joined', guid, state]),
    left: ({ uid }, guid, reason) => told.push([uid, 'left', guid, reason]),
    disconnected: ({ uid }, reason) => told.push([uid, 'disconnected', reason])
  })
  /** @param {object} [options] */
  async function connect (options = {}) {
    const client = await connectClient(t, server.url, options)
    const [uid] = /** @type {string[]} */ (told.at(-1))
    const own = () => told.filter(([who]) => who === uid).map(([, ...rest]) => rest)
    return {
      client,
      uid,
      own,
      ended: () => waitFor(() => own().at(-1)?.[0] === 'disconnected', { message: () => own() })
    }
  }
  return { server, connect }
}

test('listeners get joins and leaves of a connection in pairs, and its end', async (t) => {
  const { connect } = await start(t)
  const { client, own, ended } = await connect()
  await client.ask('doc:join', { guid: 'a', state: { name: 'Ada' } })
  await client.ask('doc:join', { guid: 'b' })
  await client.ask('doc:join', { guid: 'b' })
  await client.ask('doc:leave', { guid: 'a' })
  assert.equal((await client.ask('doc:leave', { guid: 'a' })).ok, false)
  client.disconnect()
  await ended()
  assert.deepEqual(own(), [
    ['connected'],
    ['joined', 'a', { name: 'Ada' }],
    ['joined', 'b', undefined],
    ['left', 'a', 'left'],
    ['left', 'b', 'closed'],
    ['disconnected', 'closed']
  ])
})

test('a document that is left during its join causes neither event', async (t) => {
  const { connect } = await start(t)
  const { client, own, ended } = await connect()
  const [joined, left] = await Promise.all([
    client.ask('doc:join', { guid: 'a' }),
    client.ask('doc:leave', { guid: 'a' })
  ])
  assert.deepEqual([joined.ok, left.ok], [false, true])
  client.disconnect()
  await ended()
  assert.deepEqual(own(), [['connected'], ['disconnected', 'closed']])
})

test('the reason is reported: revoked, kicked, a broken socket, a drain', async (t) => {
  const { server, connect } = await start(t)
  const kicked = await connect()
  await kicked.client.ask('doc:join', { guid: 'a' })
  await kicked.client.ask('doc:join', { guid: 'b' })
  await server.post('/v1/documents/a/revoke', { uid: kicked.uid })
  await waitFor(() => kicked.own().length >= 4, { message: () => kicked.own() })
  await fetch(`${server.apiUrl}/v1/users/${kicked.uid}/connections`, { method: 'DELETE' })
  await kicked.ended()
  assert.deepEqual(kicked.own().slice(3), [
    ['left', 'a', 'revoked'],
    ['left', 'b', 'kicked'],
    ['disconnected', 'kicked']
  ])

  const broken = await connect({ transports: ['websocket'] })
  const [connection] = [...server.gateway.io.sockets.sockets.values()]
  ;/** @type {any} */ (connection).conn.netSocket.destroy(new Error('broken'))
  await broken.ended()
  assert.deepEqual(broken.own().at(-1), ['disconnected', 'closed'])

  const drained = await connect()
  await server.stop()
  assert.deepEqual(drained.own().at(-1), ['disconnected', 'draining'])
})

test('a failing listener affects neither other listeners nor connections', async (t) => {
  const { server, connect } = await start(t)
  server.gateway.connectionListeners.add({ connected: () => { throw new Error('no') }, joined: () => { throw new Error('no') } })
  /** @type {string[]} */
  const guids = []
  server.gateway.connectionListeners.add({ joined: (_, guid) => guids.push(guid) })
  const { client } = await connect()
  assert.equal((await client.ask('doc:join', { guid: 'a' })).ok, true)
  assert.deepEqual(guids, ['a'])
})
