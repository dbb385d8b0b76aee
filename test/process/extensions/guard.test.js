import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extensionRunning } from '../../../src/gateway/extensions/guard.js'
import { connectClient } from '../../helpers/clients.js'
import { startExtended } from '../../helpers/test-extension.js'
import { waitFor } from '../../helpers/wait.js'

test('an extension sees no event that the gateway refused', async (t) => {
  /** @type {unknown[]} */
  const seen = []
  const server = await startExtended(t, ({ io }) => {
    io.on('connection', (socket) => {
      socket.use(([event], next) => { seen.push(event); next() })
      socket.onAny((event) => { seen.push(event) })
    })
  }, { MAX_EVENTS_PER_SECOND: '5' })
  const client = await connectClient(t, server.url)
  const answers = await Promise.all(Array.from({ length: 40 }, () => client.ask('doc:members', { guid: 'd' })))
  assert.equal(answers.some(({ error }) => error.code === 'rate_limited'), true)
  assert.ok(seen.length > 0)
  assert.deepEqual(seen.filter((event) => typeof event !== 'string'), [])
})

test('an extension removes listeners of extensions only', async (t) => {
  const server = await startExtended(t, ({ io }) => {
    io.on('connection', (socket) => {
      let heard = 0
      socket.on('x', () => { heard++ })
      socket.onAny(() => { heard++ })
      socket.removeAllListeners()
      socket.offAny()
      socket.conn.removeAllListeners('close')
      socket.on('heard', (answer) => answer(heard))
    })
  })
  const client = await connectClient(t, server.url)
  assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
  client.emit('x')
  assert.equal(await client.ask('heard'), 0)
  client.disconnect()
  await waitFor(() => server.gateway.connections === 0 && server.gateway.engine.clientsCount === 0)
})

test('errors in listeners of a client’s connection belong to the extension', async (t) => {
  const server = await startExtended(t, ({ io }) => {
    io.on('connection', ({ conn }) => { conn.on('packet', () => { throw new Error('a defect') }) })
  })
  for (const transports of [['websocket'], ['polling']]) {
    const client = await connectClient(t, server.url, { transports })
    assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
    assert.equal(client.connected, true)
  }
  const { values } = await server.metrics.extension_errors.get()
  assert.ok(values[0].value >= 2, JSON.stringify(values))
})

test('the gateway’s own listeners run outside the extension that calls Socket.IO', async (t) => {
  /** @type {Record<string, string | undefined>} */
  const seen = {}
  /** @type {Record<string, (socket: import('socket.io').Socket, io: import('socket.io').Server) => unknown>} */
  const calls = {
    join: (socket) => socket.join(['join', 'kept']),
    leave: (socket) => socket.leave('join'),
    socketsJoin: (socket, io) => io.in(socket.id).socketsJoin('socketsJoin'),
    socketsLeave: (socket, io) => io.in(socket.id).socketsLeave('socketsJoin'),
    disconnect: (socket) => socket.disconnect()
  }
  /** @type {string | undefined} */
  let calling
  const server = await startExtended(t, ({ io }) => {
    io.on('connection', (socket) => {
      socket.on('call', async (name, answer) => {
        calling = name
        await calls[name](socket, io)
        answer(extensionRunning()?.name)
      })
    })
  })
  const { adapter } = server.gateway.io.of('/')
  for (const event of ['join-room', 'leave-room'])
    adapter.on(event, () => { if (calling) seen[calling] = extensionRunning()?.name ?? 'the gateway' })
  const client = await connectClient(t, server.url)
  for (const name of Object.keys(calls).filter((each) => each !== 'disconnect'))
    assert.equal(await client.ask('call', name), 'test-extension')
  client.emit('call', 'disconnect')
  await waitFor(() => seen.disconnect !== undefined)
  assert.deepEqual(seen, Object.fromEntries(Object.keys(calls).map((name) => [name, 'the gateway'])))
})
