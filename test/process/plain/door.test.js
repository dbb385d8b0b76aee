import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { plainClient } from '../../helpers/plain-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const inkcast = await startEmbedded({ after }, {
  LISTENERS: 'ws:/websocket/handshake', AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '3'
})

describe('the door for plain WebSockets', () => {
  const token = (/** @type {string} */ sub, more = {}) => signToken({ sub, ...more })

  test('a client logs in, opens a document, and gets each record once and in order', async (t) => {
    const guid = randomUUID()
    for (const codec of ['json', 'msgpack']) {
      const client = await plainClient(t, inkcast.url, { query: `?token=${await token(codec)}`, protocols: [`inkcast.${codec}`] })
      const { payload } = await client.event('gateway:connected')
      assert.equal(payload.uid, codec)
      const joined = await client.ask('doc:join', { guid })
      assert.equal(joined.ok, true)
      for (let i = 0; i < 3; i++) {
        const { body } = await inkcast.post(`/v1/documents/${guid}/broadcast`, { codec, i }, { 'x-event': 'edit' })
        assert.equal(body.ok, true)
      }
      const records = () => client.received.filter(({ event }) => event === 'edit')
      await waitFor(() => records().length === 3, { message: () => JSON.stringify(client.received) })
      assert.deepEqual(records().map((record) => record.payload), [0, 1, 2].map((i) => ({ codec, i })))
      assert.deepEqual(records().map(({ meta }) => meta.offset - joined.position.offset), [1, 2, 3])
      client.ws.close()
    }
  })

  test('a client resumes at its position, and gets what it missed', async (t) => {
    const guid = randomUUID()
    const first = await plainClient(t, inkcast.url, { query: `?token=${await token('resumes')}` })
    const { position } = await first.ask('doc:join', { guid })
    first.ws.terminate()
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 'missed')
    const again = await plainClient(t, inkcast.url, { query: `?token=${await token('resumes')}` })
    const joined = await again.ask('doc:join', { guid, position })
    assert.equal(joined.recovered, true)
    assert.equal((await again.event('message')).payload, 'missed')
  })

  test('a token may be a header, a subprotocol, or in the first message with documents to open', async (t) => {
    const guid = randomUUID()
    const header = await plainClient(t, inkcast.url, { headers: { authorization: `Bearer ${await token('header')}` } })
    assert.equal((await header.event('gateway:connected')).payload.uid, 'header')
    const protocol = await plainClient(t, inkcast.url, { protocols: ['inkcast.json', `inkcast.token.${await token('protocol')}`] })
    assert.equal(protocol.ws.protocol, 'inkcast.json')
    assert.equal((await protocol.event('gateway:connected')).payload.uid, 'protocol')
    const message = await plainClient(t, inkcast.url, { query: '?auth=message' })
    message.send({ event: 'gateway:connect', payload: { token: await token('message'), documents: { [guid]: {} } } })
    assert.equal((await message.event('gateway:connected')).payload.uid, 'message')
    assert.equal((await message.event('doc:joined')).payload.guid, guid)
  })

  test('a refused client gets the reason, and is closed', async (t) => {
    const none = await plainClient(t, inkcast.url)
    assert.equal((await none.event('gateway:disconnect')).payload.code, 'unauthorized')
    assert.deepEqual(await none.closed, { code: 1008, reason: 'unauthorized' })
    const early = await plainClient(t, inkcast.url, { query: '?auth=message' })
    early.send({ event: 'doc:join', payload: { guid: 'x' }, id: 1 })
    assert.equal((await early.closed).code, 1008)
    const many = []
    for (let i = 0; i < 3; i++) {
      many.push(await plainClient(t, inkcast.url, { query: `?token=${await token('many')}` }))
      await many[i].event('gateway:connected')
    }
    const fourth = await plainClient(t, inkcast.url, { query: `?token=${await token('many')}` })
    assert.equal((await fourth.event('gateway:disconnect')).payload.code, 'too_many_connections')
    await assert.rejects(plainClient(t, inkcast.url, { headers: { origin: 'https://elsewhere.example' } }), /403/)
    await assert.rejects(plainClient(t, inkcast.url, { protocols: ['mqtt'] }), /400/)
  })

  test('rights are those of Socket.IO: documents of the token, an order that ends it, and no message before a join', async (t) => {
    const guid = randomUUID()
    const limited = await token('limited', { documents: [{ guid, access: 'read' }] })
    const client = await plainClient(t, inkcast.url, { query: `?token=${limited}` })
    assert.equal((await client.ask('doc:join', { guid: randomUUID() })).error.code, 'forbidden')
    assert.equal((await client.ask('doc:send', { guid, data: 1 })).error.code, 'not_joined')
    assert.equal((await client.ask('doc:join', { guid })).access, 'read')
    assert.equal((await client.ask('doc:send', { guid, data: 1 })).error.code, 'forbidden')
    assert.equal((await client.ask('no:event', {})).error.code, 'unknown_event')
    await inkcast.post(`/v1/documents/${guid}/revoke`, { uid: 'limited' })
    assert.equal((await client.event('doc:revoked')).payload.guid, guid)
    await fetch(`${inkcast.apiUrl}/v1/users/limited/connections`, { method: 'DELETE' })
    assert.equal((await client.event('gateway:disconnect')).payload.code, 'kicked')
    await client.closed
  })

  test('clients of both doors meet: messages, signals and members', async (t) => {
    const guid = randomUUID()
    const plain = await plainClient(t, inkcast.url, { query: `?token=${await token('plain')}` })
    assert.equal((await plain.ask('doc:join', { guid, state: { at: 1 } })).ok, true)
    const socket = await connectClient(t, inkcast.url, { auth: { token: await token('socket') } })
    const answer = await socket.emitWithAck('doc:join', { guid, state: { at: 2 } })
    assert.deepEqual(answer.members.map((/** @type {any} */ { uid }) => uid).sort(), ['plain', 'socket'])
    assert.equal((await plain.event('doc:presence')).payload.guid, guid)
    const signal = new Promise((resolve) => socket.once('cursor', resolve))
    assert.equal((await plain.ask('doc:signal', { guid, event: 'cursor', data: { x: 5 } })).ok, true)
    assert.deepEqual(await signal, { x: 5 })
    const message = new Promise((resolve) => socket.once('message', resolve))
    assert.equal((await plain.ask('doc:send', { guid, data: { text: 'from a device' } })).ok, true)
    assert.deepEqual(await message, { text: 'from a device' })
    plain.ws.close(1000)
    await waitFor(async () => (await socket.emitWithAck('doc:members', { guid })).members.length === 1)
  })

  test('a ping of the client has one pong, a record with a receipt is acknowledged, and wrong messages end the connection', async (t) => {
    const guid = randomUUID()
    const client = await plainClient(t, inkcast.url, { query: `?token=${await token('acks')}` })
    client.send({ event: 'gateway:ping' })
    await client.event('gateway:pong')
    await client.ask('doc:join', { guid })
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 'asked', { 'x-receipt': 'true' })
    const { ack } = await client.event('message')
    assert.equal(typeof ack, 'number')
    client.send({ ack })
    client.ws.send('no JSON')
    assert.equal((await client.event('gateway:disconnect')).payload.code, 'bad_value')
    await client.closed
  })

  test('a client that reads nothing for a while gets all records from the log, once and in order', async (t) => {
    const guid = randomUUID()
    const client = await plainClient(t, inkcast.url, { query: `?token=${await token('slow')}` })
    await client.ask('doc:join', { guid })
    client.ws.pause()
    const text = 'x'.repeat(100_000)
    for (let i = 1; i <= 200; i++) await inkcast.post(`/v1/documents/${guid}/broadcast`, { i, text })
    const [connection] = inkcast.gateway.directory.user('slow')
    await waitFor(() => (connection.backlog?.behind ?? 0) > 0, { message: () => connection.backlog?.bytes })
    client.ws.resume()
    const shown = () => client.received.filter(({ event }) => event === 'message').map(({ meta }) => meta.offset)
    await waitFor(() => shown().length >= 200, { timeout: 20_000, message: () => shown().length })
    assert.deepEqual(shown(), Array.from({ length: 200 }, (_, i) => i + 1))
  })

  test('a handshake that comes in pieces is taken as well, and a request that opens no WebSocket is not', async (t) => {
    const { port } = new URL(inkcast.url)
    const pieces = await token('pieces')
    const head = (/** @type {string} */ version) =>
      `GET /websocket/handshake?token=${pieces} HTTP/1.1\r\nHost: localhost\r\n` +
      `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: ${version}\r\n` +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
    for (const [version, pattern] of [['13', /101[^]*gateway:connected/], ['8', /^HTTP\/1.1 400/]]) {
      const socket = net.connect(Number(port), '127.0.0.1')
      t.after(() => socket.destroy())
      let text = ''
      socket.on('data', (data) => { text += data })
      const bytes = head(String(version))
      socket.write(bytes.slice(0, 40))
      setImmediate(() => socket.write(bytes.slice(40)))
      await waitFor(() => /** @type {RegExp} */ (pattern).test(text), { message: () => text })
    }
  })
})

test('a gateway that stops announces it to plain clients, and closes them', async (t) => {
  const own = await startEmbedded(t, { LISTENERS: 'ws:/websocket/handshake' })
  const client = await plainClient(t, own.url)
  await client.event('gateway:connected')
  await own.stop()
  assert.equal(typeof (await client.event('gateway:draining')).payload.reconnectInMs, 'number')
  await client.closed
  assert.equal(own.gateway.connections, 0)
})
