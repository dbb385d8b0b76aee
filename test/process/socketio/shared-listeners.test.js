import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'
import { SmallMap } from '../../../src/base/common/small-map.js'

const server = await startEmbedded({ after })
const { url, gateway } = server

/** @param {import('socket.io-client').Socket} client @returns {any} its Socket.IO socket */
const socketOf = (client) => gateway.io.sockets.sockets.get(client.id ?? '')
/** @param {any} socket @returns {any[]} a session is its own transport */
const emittersOf = (socket) => [...new Set([socket, socket.conn, socket.conn.transport])]
/** Clients that started with long polling, and clients that did not. */
const KINDS = { upgraded: ['polling', 'websocket'], direct: ['websocket'] }

/** @param {any} t @param {string[]} transports @param {any} [options] @returns {Promise<any>} on WebSocket */
async function onWebSocket (t, transports, options) {
  const client = await connectClient(t, url, { transports, ...options })
  await waitFor(() => socketOf(client).conn.transport.name === 'websocket', { message: 'the upgrade' })
  return client
}

for (const [kind, transports] of Object.entries(KINDS)) {
  test(`${kind}: connections on WebSocket share their listeners, with any codec`, async (t) => {
    const clients = await Promise.all([onWebSocket(t, transports), onWebSocket(t, transports, { codec: 'msgpack' })])
    const [first, second] = clients.map((client) => emittersOf(socketOf(client)))
    assert.equal(first.length, 2)
    second.forEach((emitter, i) => assert.equal(emitter._events, first[i]._events))
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'shared' })).ok, true)
  })

  test(`${kind}: listeners on one connection do not affect others`, async (t) => {
    const [client, other] = await Promise.all([onWebSocket(t, transports), onWebSocket(t, transports)])
    const [one, two] = [emittersOf(socketOf(client)), emittersOf(socketOf(other))]
    const tables = two.map(({ _events }) => _events)
    /** @type {string[]} */
    const heard = []
    one.forEach((emitter, i) =>
      emitter.on('note', () => heard.push(`${i}`)).once('note', () => heard.push(`${i} once`))
    )
    one[1].prependListener('close', () => heard.push('close'))
    one[1].on('close', () => heard.push('closed'))
    // Socket.IO's own `emit` sends to the client
    for (const emitter of [...two, ...one, ...one]) (emitter.emitReserved ?? emitter.emit).call(emitter, 'note')
    assert.deepEqual(heard.sort(), one.flatMap((_, i) => [`${i}`, `${i}`, `${i} once`]))
    two.forEach((emitter, i) => assert.equal(emitter._events, tables[i]))
    heard.length = 0
    client.disconnect()
    await waitFor(() => heard.length === 2, { message: () => heard })
    assert.equal(other.connected, true)
    assert.equal((await other.ask('doc:join', { guid: 'still' })).ok, true)
  })

  test(`${kind}: an end is detected once, for every cause, and leaves nothing behind`, async (t) => {
    /** @type {((socket: any) => void)[]} */
    const ends = [
      (socket) => socket.disconnect(true),
      (socket) => socket.conn.close(),
      (socket) => socket.conn.close(true),
      (socket) => socket.conn.transport.close(),
      (socket) => socket.conn.terminate(),
      (socket) => socket.conn.netSocket.destroy(new Error('lost')),
      (socket) => socket.client.onerror(new Error('broken')),
      (socket) => socket.conn.transport.onError('broken')
    ]
    for (const end of ends) {
      await waitFor(() => gateway.engine.clientsCount === 0, { message: 'connections of other tests to end' })
      const client = await onWebSocket(t, transports)
      const socket = socketOf(client)
      let count = 0
      socket.on('disconnect', () => count++)
      end(socket)
      await waitFor(() => !client.connected && gateway.engine.clientsCount === 0, {
        message: () => `${end} ${gateway.engine.clientsCount}`
      })
      assert.equal(count, 1, String(end))
      assert.equal(socketOf(client), undefined)
    }
  })
}

test('listeners can be removed from one connection', async (t) => {
  const [client, other] = await Promise.all([connectClient(t, url), connectClient(t, url)])
  const { conn } = socketOf(client)
  conn.removeAllListeners('packet')
  assert.equal(conn.listenerCount('packet'), 0)
  assert.ok(socketOf(other).conn.listenerCount('packet') > 0)
})

test('a connection has a room of its own, although it is not stored', async (t) => {
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
  other.on('note', () => assert.fail('it was for another client'))
  gateway.io.to(id).emit('note', 1)
  assert.deepEqual(await note, [1])
  assert.deepEqual((await gateway.io.in(id).fetchSockets()).map((each) => each.id), [id])
  const others = other.next('others')
  client.on('others', () => assert.fail('this client was excluded'))
  gateway.io.except(id).emit('others')
  await others
  gateway.io.in(id).socketsLeave('doc:own')
  await waitFor(() => socketOf(client).rooms.size === 1)
  assert.deepEqual([...socketOf(client).rooms], [id])
  gateway.io.in(id).disconnectSockets(true)
  await waitFor(() => !client.connected)
  assert.equal(adapter.rooms.has(id), false)
})

test('extensions get requested acknowledgements', async (t) => {
  const client = await connectClient(t, url)
  client.on('question', (n, answer) => answer(n + 1))
  assert.equal(await socketOf(client).emitWithAck('question', 1), 2)
})

test('a small map behaves like a Map', () => {
  const map = new SmallMap(new Map([['a', 1]]))
  assert.deepEqual([map.size, map.get('a'), map.get('b'), map.has('a'), map.has('b')], [1, 1, undefined, true, false])
  assert.deepEqual([[...map], [...map.keys()], [...map.values()]], [[['a', 1]], ['a'], [1]])
  map.set('a', 0)
  assert.deepEqual([map.size, map.delete('b'), map.delete('a'), map.delete('a'), map.size], [1, false, true, false, 0])
  assert.deepEqual([[...map], map.get('a'), map.has('a')], [[], undefined, false])
  map.set('a', 1)
  map.set('b', 2).set('a', 3)
  assert.deepEqual(
    [[...map.keys()], [...map.values()], [...map.entries()], map.size],
    [
      ['a', 'b'],
      [3, 2],
      [
        ['a', 3],
        ['b', 2]
      ],
      2
    ]
  )
  /** @type {unknown[]} */
  const seen = []
  map.forEach((value, key) => seen.push(key, value))
  assert.deepEqual(seen, ['a', 3, 'b', 2])
  assert.deepEqual([map.delete('a'), map.delete('a'), map.get('a'), map.get('b')], [true, false, undefined, 2])
  map.clear()
  assert.deepEqual([map.size, [...map]], [0, []])
})
