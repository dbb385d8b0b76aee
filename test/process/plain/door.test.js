import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { plainClient } from '../../helpers/plain-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const inkcast = await startEmbedded({ after }, {
  LISTENERS: 'ws:/websocket/handshake', AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '1'
})

describe('the door for plain WebSockets', () => {
  const token = (/** @type {string} */ sub, more = {}) => signToken({ sub, ...more })

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

  test('with auth=message, the id of the query and the token of the subprotocol count, unless the message has others', async (t) => {
    for (const [payload, uid, client] of /** @type {[object | undefined, string, string][]} */ ([
      [undefined, 'offered', 'board-1'], [{ token: null, client: null }, 'offered', 'board-1'],
      [{ token: await token('message'), client: 'lamp' }, 'message', 'lamp']
    ])) {
      const device = await plainClient(t, inkcast.url, {
        query: '?id=board-1&auth=message', protocols: ['inkcast.json', `inkcast.token.${await token('offered')}`]
      })
      device.send({ event: 'gateway:connect', payload })
      const { payload: { id } } = await device.event('gateway:connected')
      const connection = inkcast.gateway.directory.connection(id)
      assert.deepEqual([connection?.uid, connection?.client], [uid, client])
    }
  })

  test('a refused client gets the reason, and is closed', async (t) => {
    const none = await plainClient(t, inkcast.url)
    assert.equal((await none.event('gateway:disconnect')).payload.code, 'unauthorized')
    assert.deepEqual(await none.closed, { code: 1008, reason: 'unauthorized' })
    const early = await plainClient(t, inkcast.url, { query: '?auth=message' })
    early.send({ event: 'doc:join', payload: { guid: 'x' }, id: 1 })
    assert.equal((await early.closed).code, 1008)
    await plainClient(t, inkcast.url, { query: `?token=${await token('one')}` }).then((one) => one.event('gateway:connected'))
    const second = await plainClient(t, inkcast.url, { query: `?token=${await token('one')}` })
    assert.equal((await second.event('gateway:disconnect')).payload.code, 'too_many_connections')
    assert.deepEqual(await second.closed, { code: 1013, reason: 'too_many_connections' })
    await assert.rejects(plainClient(t, inkcast.url, { headers: { origin: 'https://elsewhere.example' } }), /403/)
    await assert.rejects(plainClient(t, inkcast.url, { protocols: ['mqtt'] }), /400/)
  })

  test('a ping of the client has one pong, a number may answer nothing, and wrong ones end the connection', async (t) => {
    const client = await plainClient(t, inkcast.url, { query: `?token=${await token('ids')}` })
    client.send({ event: 'gateway:ping' })
    await client.event('gateway:pong')
    client.send({ ack: 12_345 })
    client.send({ event: 'doc:history', payload: { guid: 'unanswered' } })
    assert.equal((await client.ask('gateway:check', {})).ok, true)
    assert.deepEqual(client.received.map(({ event, id }) => event ?? id), ['gateway:connected', 'gateway:pong', 1])
    client.send({ event: 'gateway:check', payload: {}, id: 'text' })
    assert.match((await client.event('gateway:disconnect')).payload.message, /id is not a whole number/)
    await client.closed
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
