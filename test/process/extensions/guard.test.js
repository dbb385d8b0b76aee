import assert from 'node:assert/strict'
import { test } from 'node:test'
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
