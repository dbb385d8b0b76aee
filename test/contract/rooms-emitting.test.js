import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createSigner } from 'fast-jwt'
import { allConnected, connectClient } from '../helpers/clients.js'
import { ownStoreUrl } from '../helpers/backends.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { startRoles } from '../helpers/roles.js'
import { startEmitter, startServer, troubleOfSenders } from '../helpers/socketio-senders.js'
import { waitFor } from '../helpers/wait.js'

/**
 * Services without inkcast, with stock libraries of Socket.IO, reach clients of inkcast; docs/extensions.md, "Emitting
 * from other processes".
 *
 * @typedef {Awaited<ReturnType<typeof connectClient>>} Client
 */

const EXTENSION = fileURLToPath(new URL('../helpers/rooms-extension.js', import.meta.url))
const SECRET = 'a secret for tests of emitters, of 32 characters or more'
const sign = createSigner({ key: SECRET })
const BINARY = Buffer.from([0, 1, 255])
const NAMESPACES = ['/', '/chat']
/** How clients connect; each is on both workers. */
const KINDS = /** @type {const} */ ([
  { codec: 'json', transports: ['websocket'] },
  { codec: 'msgpack', transports: ['websocket'] },
  { codec: 'json', transports: ['polling'] }
])

const fresh = () => `room-${randomUUID()}`
const ids = (/** @type {Iterable<{ id?: string }>} */ sockets) => [...sockets].map(({ id }) => id).sort()

// each mode over one node and over several: the built-in store answers as Redis does (differential.test.js)
/** @type {[string, () => Promise<string>, 'static' | 'dynamic'][]} */
const PLACES = [
  ['a single Redis', () => ownRedisUrl(fileScope()), 'static'],
  ['the built-in store', ownStoreUrl, 'dynamic'],
  ['Redis Cluster', async () => redisClusterUrl(), 'static'],
  ['Redis Cluster', async () => redisClusterUrl(), 'dynamic']
]
for (const [where, redisUrl, subscriptionMode] of PLACES) {
  const url = await redisUrl()
  describe(`over ${where}, ${subscriptionMode}`, () => emitting(url, subscriptionMode))
}

/** Ends a sender with its own suite: the next one would wait for its answers. */
function ownScope () {
  /** @type {(() => unknown)[]} */
  const stops = []
  after(async () => { for (const stop of stops) await stop() })
  return { after: (/** @type {() => unknown} */ stop) => { stops.push(stop) } }
}

/** @param {string} redisUrl @param {'static' | 'dynamic'} subscriptionMode */
function emitting (redisUrl, subscriptionMode) {
  const scope = fileScope()
  // clusters of other tests may use the same Redis Cluster
  const prefix = `test-${randomUUID()}`
  const [key, channelPrefix] = [`${prefix}:key`, `${prefix}:rooms`]
  // with REDIS_PREFIX the mode is static
  /** @type {Record<string, string>} */
  const settings = subscriptionMode === 'static' ? { REDIS_PREFIX: prefix } : {}
  /** @type {Record<string, Client[]>} by namespace */
  const clients = {}
  let number = 0

  before(async () => {
    const { urls } = await startRoles(scope, {
      WORKERS: '2', REDIS_URL: redisUrl, EXTENSIONS: EXTENSION, AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'false',
      MAX_EVENTS_PER_SECOND: '1000', EMITTER_KEY: key, ROOMS_CHANNEL_PREFIX: channelPrefix, ...settings
    })
    for (const namespace of NAMESPACES) {
      clients[namespace] = await Promise.all(urls.flatMap((url) => KINDS.map(({ codec, transports }) => {
        const i = ++number
        return connectClient(scope, url + namespace, {
          codec,
          transports: [...transports],
          auth: { token: sign({ sub: `user-${i}`, name: `Name ${i}` }), client: `client-${i}` }
        })
      })))
    }
  }, { timeout: 120_000 })

  beforeEach(() => allConnected(everyone()))

  const everyone = () => NAMESPACES.flatMap((namespace) => clients[namespace])
  /** @param {string} event @returns {Client[]} */
  const gotIt = (event) => everyone().filter(({ received }) => received.some((each) => each.event === event))

  /** Waits until exactly these have received an event, once. @param {string} event @param {Client[]} expected */
  async function reaches (event, expected) {
    await waitFor(() => gotIt(event).length >= expected.length, {
      timeout: 10_000,
      message: () => [ids(gotIt(event)), ids(expected), troubleOfSenders()]
    })
    await delay(50)
    assert.deepEqual(ids(gotIt(event)), ids(expected))
    for (const { received } of expected) assert.equal(received.filter((each) => each.event === event).length, 1)
  }

  /** @param {Client[]} members @returns {Promise<string>} a room with these members */
  async function roomOf (members) {
    const room = fresh()
    await Promise.all(members.map((member) => member.ask('op', 'join', { rooms: [room] })))
    return room
  }
  const members = (/** @type {string} */ namespace, /** @type {string} */ room) =>
    clients[namespace][0].ask('op', 'fetch', { to: [room] })

  /**
   * What every sender can do.
   * @param {() => any} sender emitter or server
   */
  function sends (sender) {
    for (const namespace of NAMESPACES) {
      const target = () => namespace === '/' ? sender() : sender().of(namespace)

      test(`emits reach all clients, rooms and single clients in ${namespace}`, async () => {
        const own = clients[namespace]
        const [everywhere, inRoom, single, inTwo] = Array.from({ length: 4 }, fresh)
        const room = await roomOf(own.slice(1))
        const another = await roomOf(own.slice(0, 3))
        target().emit(everywhere, { text: 'größer' }, BINARY)
        target().to(room).except(String(own[1].id)).emit(inRoom)
        target().to(String(own[2].id)).emit(single, 1)
        target().to([room, another]).emit(inTwo)
        await reaches(everywhere, own)
        await reaches(inRoom, own.slice(2))
        await reaches(single, [own[2]])
        await reaches(inTwo, own)
        for (const { received } of own) {
          const { payload, meta } = received.find((each) => each.event === everywhere) ?? {}
          assert.deepEqual([payload, Buffer.from(meta)], [{ text: 'größer' }, BINARY])
        }
      })

      test(`socketsJoin and socketsLeave change the rooms of clients in ${namespace}`, async () => {
        const own = clients[namespace]
        const room = await roomOf(own)
        const joined = fresh()
        target().in(room).except(String(own[0].id)).socketsJoin(joined)
        await waitFor(async () => (await members(namespace, joined)).length === own.length - 1)
        assert.deepEqual(ids(await members(namespace, joined)), ids(own.slice(1)))
        target().in(joined).socketsLeave(joined)
        await waitFor(async () => (await members(namespace, joined)).length === 0)
      })
    }

    test('serverSideEmit reaches the extensions of all workers', async () => {
      const note = fresh()
      sender().serverSideEmit('note', note, { more: 1 })
      for (const client of clients['/']) {
        const notes = async () => JSON.stringify(await client.ask('op', 'notes', {}))
        await waitFor(async () => (await notes()).includes(`["${note}",{"more":1}]`), { message: notes })
      }
    })

    test('members of a document get an emit to its room, and leave the document with socketsLeave', async () => {
      const guid = fresh()
      const event = fresh()
      for (const client of clients['/']) assert.equal((await client.ask('doc:join', { guid })).ok, true)
      sender().to(`doc:${guid}`).emit(event)
      await reaches(event, clients['/'])
      const revoked = Promise.all(clients['/'].map((client) => client.next('doc:revoked')))
      sender().in(`doc:${guid}`).socketsLeave(`doc:${guid}`)
      assert.deepEqual(await revoked, clients['/'].map(() => [{ guid }]))
    })
  }

  for (const library of /** @type {const} */ (['ioredis', 'redis'])) {
    describe(`@socket.io/redis-emitter with ${library}`, () => {
      const sender = ownScope()
      /** @type {any} */
      let emitter
      before(async () => { emitter = await startEmitter(sender, redisUrl, library, key) })
      sends(() => emitter)
    })

    describe(`a server with the classic adapter and ${library}`, () => {
      const sender = ownScope()
      /** @type {import('socket.io').Server} */
      let io
      before(async () => { io = await startServer(sender, redisUrl, library, { key }) })
      sends(() => io)

      test('its own requests do not wait for inkcast', async () => {
        assert.deepEqual(await io.fetchSockets(), [])
        assert.deepEqual(await io.serverSideEmitWithAck('who', 'question'), [])
      })
    })

    describe(`a server with the sharded adapter and ${library}`, () => {
      const sender = ownScope()
      /** @type {import('socket.io').Server} */
      let io
      before(async () => {
        io = await startServer(sender, redisUrl, library, { channelPrefix, subscriptionMode })
        // the adapter does not await its subscriptions
        await waitFor(async () => (await io.serverSideEmitWithAck('who', 1)).length === 2, {
          timeout: 15_000,
          message: 'the workers to answer'
        })
      }, { timeout: 60_000 })
      sends(() => io)

      for (const namespace of NAMESPACES) {
        test(`fetchSockets finds the clients in ${namespace}, with their user and without a token`, async () => {
          const own = clients[namespace]
          const room = await roomOf(own)
          const found = await io.of(namespace).in(room).fetchSockets()
          assert.deepEqual(ids(found), ids(own))
          assert.doesNotMatch(JSON.stringify(found.map(({ handshake, data }) => [handshake, data])), /token|eyJ/)
          for (const { id, data, rooms } of found) {
            const { client } = /** @type {any} */ (own.find((each) => each.id === id)).auth
            const i = client.slice('client-'.length)
            assert.deepEqual(data, { uid: `user-${i}`, name: `Name ${i}`, client, grants: null })
            assert.ok(rooms.has(room))
          }
        })

        test(`emitWithAck gets the answers of the clients in ${namespace}`, async () => {
          const own = clients[namespace]
          const room = await roomOf(own)
          const event = fresh()
          own.forEach((client, i) => client.once(event, (answer) => answer(i)))
          const answers = await io.of(namespace).to(room).timeout(60_000).emitWithAck(event)
          assert.deepEqual(answers.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b), [...own.keys()])
        })
      }

      test('an emit of inkcast reaches clients of the other server', async (t) => {
        const http = createServer()
        io.attach(http)
        t.after(() => http.close())
        await once(http.listen(0, '127.0.0.1'), 'listening')
        const { port } = /** @type {import('net').AddressInfo} */ (http.address())
        const client = await connectClient(t, `http://127.0.0.1:${port}`)
        const [room, first, event] = [fresh(), fresh(), fresh()]
        io.in(String(client.id)).socketsJoin(room)
        await waitFor(async () => (await members('/', room)).length === 1)
        const emit = (/** @type {string} */ event) =>
          clients['/'][0].ask('op', 'emit', { to: [room], event, args: [BINARY] })
        const got = (/** @type {string} */ event) => client.received.filter((each) => each.event === event)
        // the other server does not await its subscription to the room
        await waitFor(async () => {
          await emit(first)
          return got(first).length > 0
        })
        await emit(event)
        await waitFor(() => got(event).length > 0)
        assert.deepEqual(got(event).map(({ payload }) => payload), [BINARY])
        // The adapter unsubscribes when the client has gone, and waits for no answer: the end of its connection to
        // Redis would reject that, and nothing catches it. The end of the connection ends the subscription, too.
        io.of('/').adapter.removeAllListeners('delete-room')
      })

      test('serverSideEmit works in both directions, with answers', async () => {
        const answers = await io.serverSideEmitWithAck('who', 'question')
        assert.deepEqual(answers.map(([, question]) => question), ['question', 'question'])
        /** @type {unknown[]} */
        const got = []
        io.on('note', (/** @type {unknown[]} */ ...args) => { got.push(args) })
        const note = fresh()
        await clients['/'][0].ask('op', 'serverSideEmit', { args: [note] })
        await waitFor(() => got.length > 0)
        assert.deepEqual(got, [[note]])
      })
    })
  }
}
