import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Manager } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { startExtended } from '../../helpers/test-extension.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {import('node:test').TestContext} TestContext */

const KINDS = /** @type {const} */ ([
  { codec: 'json', transports: ['websocket'] },
  { codec: 'msgpack', transports: ['websocket'] },
  { codec: 'json', transports: ['polling'] },
  { codec: 'msgpack', transports: ['polling', 'websocket'] }
])
const SECURE = { AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'false' }

/** @param {import('socket.io-client').Socket} client @returns {Promise<string | undefined>} code of the refusal */
async function outcome (client) {
  client.connect()
  return Promise.race([
    once(/** @type {any} */ (client), 'connect').then(() => undefined),
    once(/** @type {any} */ (client), 'connect_error').then(([error]) => error.data?.code ?? error.message)
  ])
}

/**
 * Two namespaces of one connection; neither is connected yet.
 * @param {TestContext} t @param {string} url @param {any} kind @param {string} [token]
 */
function twoNamespaces (t, url, { codec, transports }, token) {
  const manager = new Manager(url, {
    transports: [...transports],
    autoConnect: false,
    reconnection: false,
    ...(codec === 'msgpack' ? { parser: msgpackParser } : {})
  })
  t.after(() => manager._close())
  const [main, chat] = ['/', '/chat'].map((path) => manager.socket(path, { auth: { token } }))
  return { main, chat }
}

for (const kind of KINDS) {
  describe(`a client with ${kind.codec} over ${kind.transports.join(' and ')}`, () => {
    for (const order of ['chat first', 'main first', 'both at once']) {
      test(`counts as one connection of its user in two namespaces, ${order}`, async (t) => {
        const server = await startExtended(t, ({ io }) => { io.of('/chat').on('connection', () => {}) }, {
          ...SECURE, MAX_CONNECTIONS_PER_USER: '1'
        })
        const token = await signToken({ sub: 'ann' })
        for (let round = 0; round < 2; round++) {
          const { main, chat } = twoNamespaces(t, server.url, kind, token)
          const clients = order === 'main first' ? [main, chat] : [chat, main]
          if (order === 'both at once') assert.deepEqual(await Promise.all(clients.map(outcome)), [undefined, undefined])
          else for (const client of clients) assert.equal(await outcome(client), undefined)
          assert.equal(server.gateway.connections, 1)
          const second = twoNamespaces(t, server.url, kind, token).main
          assert.equal(await outcome(second), 'too_many_connections')
          second.disconnect()
          main.disconnect()
          await delay(20)
          assert.equal(chat.connected, true)
          assert.equal(server.gateway.connections, 1)
          chat.disconnect()
          await waitFor(() => server.gateway.connections === 0 && server.gateway.engine.clientsCount === 0, {
            message: 'the end of the connection'
          })
        }
      })
    }
  })
}

describe('a middleware of an extension', () => {
  test('may refuse a client, which connects on the same connection later; nothing is left', async (t) => {
    let refusing = true
    const server = await startExtended(t, ({ io }) => {
      for (const namespace of [io, io.of('/chat')]) {
        namespace.use((/** @type {any} */ socket, /** @type {any} */ next) => {
          setTimeout(() => next(refusing ? new Error('not now') : undefined), 5)
        })
      }
    }, { ...SECURE, MAX_CONNECTIONS_PER_USER: '1' })
    const token = await signToken({ sub: 'ann' })
    const { main, chat } = twoNamespaces(t, server.url, KINDS[0], token)
    for (const client of [main, chat, main]) assert.equal(await outcome(client), 'not now')
    assert.equal(server.gateway.connections, 0)
    refusing = false
    assert.equal(await outcome(chat), undefined)
    refusing = true
    assert.equal(await outcome(main), 'not now')
    assert.equal(server.gateway.connections, 1)
    assert.equal(chat.connected, true)
    refusing = false
    assert.equal(await outcome(main), undefined)
    assert.equal((await main.timeout(30_000).emitWithAck('doc:join', { guid: 'd' })).ok, true)
    main.io.engine.close()
    await waitFor(() => server.gateway.connections === 0)
    assert.equal(await outcome(twoNamespaces(t, server.url, KINDS[0], token).main), undefined)
  })

  test('that is slow or never answers holds up its own namespace only, and leaves nothing', async (t) => {
    /** @type {((error?: Error) => void)[]} */
    const nexts = []
    const server = await startExtended(t, ({ io }) => {
      io.of('/chat').use((socket, next) => { nexts.push(next) })
    }, { ...SECURE, MAX_CONNECTIONS_PER_USER: '1' })
    const token = await signToken({ sub: 'ann' })
    for (const end of ['connects', 'is refused', 'is refused after the end', 'never']) {
      const { main, chat } = twoNamespaces(t, server.url, KINDS[0], token)
      chat.connect()
      await waitFor(() => nexts.length === 1)
      assert.equal(await outcome(main), undefined)
      assert.equal(server.gateway.connections, 1)
      const connected = once(/** @type {any} */ (chat), end === 'connects' ? 'connect' : 'connect_error')
      connected.catch(() => {})
      if (end === 'connects') nexts.pop()?.()
      if (end === 'is refused') nexts.pop()?.(new Error('no'))
      if (end === 'connects' || end === 'is refused') await connected
      assert.equal(server.gateway.connections, 1)
      main.io.engine.close()
      await waitFor(() => server.gateway.connections === 0)
      nexts.pop()?.(new Error('no'))
      // one connection is allowed: a count that is too high refuses this one, one too low admits the second
      const [next, second] = [0, 1].map(() => twoNamespaces(t, server.url, KINDS[0], token).main)
      assert.equal(await outcome(next), undefined)
      assert.equal(await outcome(second), 'too_many_connections')
      next.disconnect()
      second.disconnect()
      await waitFor(() => server.gateway.connections === 0)
    }
  })

  test('that refuses the main namespace leaves a client of others subject to kick', async (t) => {
    /** @type {((error?: Error) => void)[]} */
    const nexts = []
    const server = await startExtended(t, ({ io, publish }) => {
      io.use((socket, next) => { nexts.push(next) })
      io.of('/chat').on('connection', (socket) => {
        socket.on('kick', () => publish({ operator: 'kick', uid: socket.data.uid }))
      })
    }, SECURE)
    const { main, chat } = twoNamespaces(t, server.url, KINDS[0], await signToken({ sub: 'ann' }))
    main.connect()
    await waitFor(() => nexts.length === 1)
    assert.equal(await outcome(chat), undefined)
    nexts.pop()?.(new Error('no'))
    await once(/** @type {any} */ (main), 'connect_error')
    assert.equal(server.gateway.connections, 1)
    const gone = once(/** @type {any} */ (chat), 'gateway:disconnect')
    chat.emit('kick')
    assert.equal((await gone)[0].code, 'kicked')
    await waitFor(() => server.gateway.connections === 0)
  })

  test('of a namespace with a changing name does not lose it when another client is refused', async (t) => {
    /** @type {(() => void)[]} */
    const nexts = []
    const server = await startExtended(t, ({ io }) => {
      const rooms = io.of(/^\/room-\d$/)
      rooms.use((socket, next) => { nexts.push(next) })
      rooms.on('connection', (socket) => { socket.on('all', () => io.of(socket.nsp.name).emit('said')) })
    }, SECURE)
    const token = await signToken({ sub: 'ann' })
    const [ann, nobody] = [token, undefined].map((each) =>
      twoNamespaces(t, server.url, KINDS[0]).main.io.socket('/room-1', { auth: { token: each } }))
    ann.connect()
    await waitFor(() => nexts.length === 1)
    assert.equal(await outcome(nobody), 'unauthorized')
    nexts.pop()?.()
    await once(/** @type {any} */ (ann), 'connect')
    const said = once(/** @type {any} */ (ann), 'said')
    ann.emit('all')
    await said
  })
})

test('a client cannot be two users on one connection', async (t) => {
  const server = await startExtended(t, ({ io }) => { io.of('/chat') }, SECURE)
  const { main, chat } = twoNamespaces(t, server.url, KINDS[0], await signToken({ sub: 'ann' }))
  main.auth = { token: await signToken({ sub: 'bob' }) }
  assert.equal(await outcome(chat), undefined)
  assert.equal(await outcome(main), 'forbidden')
  assert.equal(chat.connected, true)
  assert.equal(server.gateway.connections, 1)
})

test('a client that an extension disconnects at once leaves nothing', async (t) => {
  const server = await startExtended(t, ({ io }) => {
    for (const namespace of [io, io.of('/chat')])
      namespace.on('connect', (/** @type {any} */ socket) => { socket.disconnect() })
  }, { ...SECURE, MAX_CONNECTIONS_PER_USER: '1' })
  const token = await signToken({ sub: 'ann' })
  for (let round = 0; round < 3; round++) {
    for (const path of ['main', 'chat']) {
      const client = twoNamespaces(t, server.url, KINDS[0], token)[/** @type {'main' | 'chat'} */ (path)]
      client.connect()
      await once(/** @type {any} */ (client), 'disconnect')
      await waitFor(() => server.gateway.connections === 0 && server.gateway.engine.clientsCount === 0)
    }
  }
})

test('a drain tells and closes a client that is in an extension’s namespace only', async (t) => {
  const server = await startExtended(t, ({ io }) => { io.of('/chat') }, { DRAIN_TIMEOUT: '2000' })
  /** @type {object[]} */
  const told = []
  for (const kind of KINDS) {
    const { chat } = twoNamespaces(t, server.url, kind)
    assert.equal(await outcome(chat), undefined)
    // alone, the gateway leaves its port: the next poll of a client that is between two finds nobody
    const transport = kind.transports.at(-1)
    await waitFor(() => /** @type {any} */ (chat.io).engine.transport.name === transport)
    chat.on('gateway:draining', () => told.push(kind))
  }
  await server.stop()
  await waitFor(() => told.length === KINDS.length, { message: () => told })
  assert.equal(server.gateway.connections, 0)
})

test('a client in an extension’s namespace only that reads nothing is closed', async (t) => {
  const server = await startExtended(t, ({ io }) => { io.of('/chat') }, { MAX_WAITING_BYTES: '500000' })
  const client = await rawWebSocket(t, server.url)
  client.send('40/chat,')
  await client.text(/^40\/chat,\{/)
  client.ws.pause()
  await waitFor(() => {
    server.gateway.io.of('/chat').emit('news', 'x'.repeat(100_000))
    return server.gateway.connections === 0
  }, { timeout: 20_000 })
})

test('a token that expires ends a client that is in an extension’s namespace only', async (t) => {
  const server = await startExtended(t, ({ io }) => { io.of('/chat') }, SECURE)
  /** @type {any[]} */
  const ends = []
  // on a busy machine a token may expire before it is admitted
  await waitFor(async () => {
    const token = await signToken({ sub: 'ann', exp: Math.floor(Date.now() / 1000) + 4 })
    const { chat } = twoNamespaces(t, server.url, KINDS[0], token)
    chat.on('gateway:disconnect', (end) => ends.push(end))
    return await outcome(chat) === undefined
  }, { timeout: 20_000 })
  await waitFor(() => ends.length === 1)
  assert.equal(ends[0].code, 'token_expired')
})

test('other servers see neither token nor session id of a client', async (t) => {
  const server = await startExtended(t, ({ io }) => { io.of('/chat') }, SECURE)
  for (const kind of KINDS) {
    const token = await signToken({ sub: 'ann' })
    const { main, chat } = twoNamespaces(t, server.url, kind, token)
    for (const client of [chat, main]) assert.equal(await outcome(client), undefined)
    const sid = main.io.engine.id
    for (const namespace of [server.gateway.io.of('/'), server.gateway.io.of('/chat')]) {
      const shown = JSON.stringify((await namespace.fetchSockets()).map(({ handshake, data, rooms, id }) => (
        { handshake, data, rooms: [...rooms], id }
      )))
      assert.equal(shown.includes(token), false)
      assert.equal(shown.includes(sid), false)
    }
  }
  const stranger = twoNamespaces(t, server.url, KINDS[0]).main.io.socket('/other')
  assert.equal(await outcome(stranger), 'Invalid namespace')
})
