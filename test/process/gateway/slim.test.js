import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'
import { SmallMap } from '../../../src/gateway/small-map.js'

const server = await startEmbedded({ after })
const { url, gateway } = server

/** @param {import('socket.io-client').Socket} client @returns {any} Socket.IO's socket of it */
const socketOf = (client) => gateway.io.sockets.sockets.get(client.id ?? '')
/** @param {any} socket */
const emittersOf = (socket) => [socket, socket.conn, socket.conn.transport, socket.conn.transport.socket]

test('connections on WebSocket share their listeners, whatever they speak and however they began', async (t) => {
  const clients = await Promise.all([
    connectClient(t, url), connectClient(t, url, { codec: 'msgpack' }), connectClient(t, url, { transports: ['polling', 'websocket'] })
  ])
  await waitFor(() => clients.every((client) => socketOf(client).conn.transport.name === 'websocket'), { message: 'the upgrade' })
  const [first, ...others] = clients.map((client) => emittersOf(socketOf(client)))
  for (const other of others) other.forEach((emitter, i) => assert.equal(emitter._events, first[i]._events))
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'shared' })).ok, true)
})

test('who listens to one connection listens to that one, and the others are as they were', async (t) => {
  const [client, other] = await Promise.all([connectClient(t, url), connectClient(t, url)])
  const [one, two] = [emittersOf(socketOf(client)), emittersOf(socketOf(other))]
  const tables = two.map(({ _events }) => _events)
  /** @type {string[]} */
  const heard = []
  one.forEach((emitter, i) => emitter.on('note', () => heard.push(`${i}`)).once('note', () => heard.push(`${i} once`)))
  one[1].prependListener('close', () => heard.push('close'))
  one[1].on('close', () => heard.push('closed'))
  // Socket.IO's own `emit` is for the client
  for (const emitter of [...two, ...one, ...one]) (emitter.emitReserved ?? emitter.emit).call(emitter, 'note')
  assert.deepEqual(heard.sort(), ['0', '0', '0 once', '1', '1', '1 once', '2', '2', '2 once', '3', '3', '3 once'])
  assert.deepEqual(two.map(({ _events }) => _events), tables)
  two.forEach((emitter, i) => assert.equal(emitter._events, tables[i]))
  heard.length = 0
  client.disconnect()
  await waitFor(() => heard.length === 2, { message: () => heard })
  assert.equal(other.connected, true)
  assert.equal((await other.ask('doc:join', { guid: 'still' })).ok, true)
})

test('listeners can be taken off one connection', async (t) => {
  const [client, other] = await Promise.all([connectClient(t, url), connectClient(t, url)])
  const { conn } = socketOf(client)
  conn.removeAllListeners('packet')
  assert.equal(conn.listenerCount('packet'), 0)
  assert.ok(socketOf(other).conn.listenerCount('packet') > 0)
})

test('an end is noticed once, however it comes, and leaves nothing behind', async (t) => {
  /** @type {((socket: any) => void)[]} */
  const ends = [
    (socket) => socket.disconnect(true),
    (socket) => socket.conn.close(),
    (socket) => socket.conn.close(true),
    (socket) => socket.conn.transport.close(),
    (socket) => socket.conn.transport.socket.terminate(),
    (socket) => socket.conn.transport.socket._socket.destroy(new Error('lost')),
    (socket) => socket.client.onerror(new Error('broken')),
    (socket) => socket.conn.transport.onError('broken')
  ]
  for (const end of ends) {
    await waitFor(() => gateway.engine.clientsCount === 0, { message: 'those of other tests to be gone' })
    const client = await connectClient(t, url)
    const socket = socketOf(client)
    let count = 0
    socket.on('disconnect', () => count++)
    end(socket)
    await waitFor(() => !client.connected && gateway.engine.clientsCount === 0, { message: () => `${end} ${gateway.engine.clientsCount}` })
    assert.equal(count, 1, String(end))
    assert.equal(socketOf(client), undefined)
  }
})

test('a connection has a room of its own, though nobody keeps it', async (t) => {
  const [client, other] = await Promise.all([connectClient(t, url), connectClient(t, url)])
  const { adapter } = gateway.io.sockets
  const id = client.id ?? ''
  await client.ask('doc:join', { guid: 'own' })
  assert.deepEqual([...socketOf(client).rooms], [id, 'doc:own'])
  assert.equal(adapter.rooms.has(id), true)
  assert.deepEqual([...adapter.rooms.get(id) ?? []], [id])
  assert.equal(adapter.rooms.has('doc:nobody'), false)
  assert.equal(adapter.rooms.get('doc:nobody'), undefined)
  const note = client.next('note')
  other.on('note', () => assert.fail('it was for somebody else'))
  gateway.io.to(id).emit('note', 1)
  assert.deepEqual(await note, [1])
  assert.deepEqual((await gateway.io.in(id).fetchSockets()).map((each) => each.id), [id])
  const others = other.next('others')
  client.on('others', () => assert.fail('it was excepted'))
  gateway.io.except(id).emit('others')
  await others
  gateway.io.in(id).socketsLeave('doc:own')
  assert.deepEqual([...socketOf(client).rooms], [id])
  gateway.io.in(id).disconnectSockets(true)
  await waitFor(() => !client.connected)
  assert.equal(adapter.rooms.has(id), false)
})

test('acknowledgements that extensions ask for come back', async (t) => {
  const client = await connectClient(t, url)
  client.on('question', (n, answer) => answer(n + 1))
  assert.equal(await socketOf(client).emitWithAck('question', 1), 2)
})

test('a small map is a map', () => {
  const map = new SmallMap(new Map([['a', 1]]))
  assert.deepEqual([map.size, map.get('a'), map.get('b'), map.has('a'), map.has('b')], [1, 1, undefined, true, false])
  assert.deepEqual([...map], [['a', 1]])
  map.set('b', 2).set('a', 3)
  assert.deepEqual([[...map.keys()], [...map.values()], [...map.entries()], map.size], [['a', 'b'], [3, 2], [['a', 3], ['b', 2]], 2])
  /** @type {unknown[]} */
  const seen = []
  map.forEach((value, key) => seen.push(key, value))
  assert.deepEqual(seen, ['a', 3, 'b', 2])
  assert.deepEqual([map.delete('a'), map.delete('a'), map.get('a'), map.get('b')], [true, false, undefined, 2])
  map.clear()
  assert.deepEqual([map.size, [...map]], [0, []])
})
