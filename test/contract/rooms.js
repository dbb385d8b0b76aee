import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createSigner } from 'fast-jwt'
import { allConnected, connectClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { waitFor } from '../helpers/wait.js'

/**
 * Rooms of extensions behave as Socket.IO documents it, whatever number of processes there are:
 * https://socket.io/docs/v4/rooms/, https://socket.io/docs/v4/server-instance/
 *
 * @typedef {object} RoomsFixture
 * @property {(scope: { after: (stop: () => unknown) => void }, env: Record<string, string>) => Promise<string[]>} start
 *   starts gateways with these settings; resolves to the URL of each worker
 *
 * @typedef {Awaited<ReturnType<typeof connectClient>>} Client
 */

const EXTENSION = fileURLToPath(new URL('../helpers/rooms-extension.js', import.meta.url))
const SECRET = 'a secret for tests of rooms, of 32 characters or more'
const sign = createSigner({ key: SECRET })
const BINARY = Buffer.from([0, 1, 255])
/** Clients on each worker: JSON and msgpack, WebSocket and long polling. */
const EACH = 3
/** Where a response is expected: also a busy machine gives one in this time, ms. */
const PATIENCE = 50_000

/** @param {{ id?: string }} client */
const workerOf = (client) => String(client.id).slice(0, 2)
const fresh = () => `room-${randomUUID()}`

/**
 * @param {string} name of the set-up
 * @param {RoomsFixture} fixture
 */
export function roomsContract (name, { start }) {
  describe(`rooms: ${name}`, () => {
    const scope = fileScope()
    /** @type {string[]} */
    let urls
    before(async () => {
      urls = await start(scope, {
        EXTENSIONS: EXTENSION, AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'false',
        MAX_EVENTS_PER_SECOND: '1000'
      })
    }, { timeout: 120_000 })

    for (const namespace of ['/', '/chat', '/dynamic-one']) {
      describe(`in ${namespace}`, () => roomsIn(scope, () => urls, namespace))
    }
  })
}

/**
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @param {() => string[]} urls
 * @param {string} namespace
 */
function roomsIn (scope, urls, namespace) {
  /** Some on each worker. @type {Client[]} */
  let clients = []
  before(async () => { clients = await someOnEach(scope, urls(), namespace) }, { timeout: 120_000 })
  beforeEach(() => allConnected(clients))

  /** @param {Client} client @param {string} operation @param {object} [options] */
  const run = (client, operation, options = {}) => client.ask('op', operation, options)
  /** @param {string} event @returns {Client[]} those that received it */
  const gotIt = (event) => clients.filter(({ received }) => received.some((each) => each.event === event))
  /**
   * Waits until exactly these have received an event, and for a moment longer.
   * @param {string} event
   * @param {Client[]} expected
   */
  async function reaches (event, expected) {
    await waitFor(() => gotIt(event).length >= expected.length, { message: () => gotIt(event).map(({ id }) => id) })
    await delay(50)
    assert.deepEqual(gotIt(event).map(({ id }) => id).sort(), expected.map(({ id }) => id).sort())
    for (const { received } of expected) assert.equal(received.filter((each) => each.event === event).length, 1)
  }
  /** @param {Client[]} members @returns {Promise<string>} a room with these members */
  async function roomOf (members) {
    const room = fresh()
    for (const member of members) await run(member, 'join', { rooms: [room] })
    return room
  }
  const ids = (/** @type {{ id?: string }[]} */ sockets) => sockets.map(({ id }) => id).sort()

  test('an emit to a room reaches its members on all workers, once', async () => {
    const [one, ...others] = clients
    const room = await roomOf(others)
    const event = fresh()
    await run(one, 'emit', { to: [room], event, args: [{ text: 'größer' }, BINARY] })
    await reaches(event, others)
    for (const { received } of others) {
      const { payload, meta } = received.find((each) => each.event === event) ?? {}
      assert.deepEqual(payload, { text: 'größer' })
      assert.deepEqual(Buffer.from(meta), BINARY)
    }
  })

  test('an emit to several rooms reaches a member of two of them once', async () => {
    const [one, two, three] = clients
    const rooms = [await roomOf([one, two]), await roomOf([two, three])]
    const event = fresh()
    await run(clients[clients.length - 1], 'emit', { to: rooms, event, args: [] })
    await reaches(event, [one, two, three])
  })

  test('an emit to nobody in particular reaches all clients of the namespace', async () => {
    const event = fresh()
    await run(clients[0], 'emit', { event, args: [1] })
    await reaches(event, clients)
  })

  test('an emit to the id of a connection reaches it alone, on whatever worker it is', async () => {
    const event = fresh()
    await run(clients[0], 'emit', { to: [clients.at(-1)?.id], event, args: [] })
    await reaches(event, [/** @type {Client} */ (clients.at(-1))])
  })

  test('an emit leaves out the rooms of except', async () => {
    const [one, two] = clients
    const room = await roomOf(clients)
    const excepted = await roomOf([one])
    const event = fresh()
    await run(two, 'emit', { to: [room], except: [excepted, two.id], event, args: [] })
    await reaches(event, clients.filter((client) => client !== one && client !== two))
  })

  test('a local emit stays on its worker', async () => {
    const room = await roomOf(clients)
    const event = fresh()
    await run(clients[0], 'emit', { to: [room], local: true, event, args: [] })
    await reaches(event, clients.filter((client) => workerOf(client) === workerOf(clients[0])))
  })

  test('a volatile emit reaches clients that can take it', async () => {
    // a polling client cannot between two polls
    const members = clients.filter(({ io }) => io.engine.transport.name === 'websocket')
    const room = await roomOf(members)
    const event = fresh()
    await run(clients[0], 'emit', { to: [room], volatile: true, event, args: [] })
    await reaches(event, members)
  })

  test('a volatile emit is dropped for a client that cannot take it', async () => {
    const polling = clients.filter(({ io }) => io.engine.transport.name === 'polling')
    const room = await roomOf(polling)
    for (const client of polling) {
      const neighbor = clients.find((each) => each !== client && workerOf(each) === workerOf(client))
      let event = ''
      // the first emit ends the poll, so that the second one finds none; both are dropped between two polls
      await waitFor(async () => {
        event = fresh()
        const options = { to: [room], local: true, volatile: true, event, args: [] }
        await run(/** @type {Client} */ (neighbor), 'emitTwice', options)
        await delay(50)
        return gotIt(event).includes(client)
      })
      assert.ok(!gotIt(`${event}-again`).includes(client))
    }
  })

  test('a broadcast of a socket reaches all members but itself', async () => {
    const room = await roomOf(clients)
    const event = fresh()
    await run(clients[0], 'broadcast', { to: [room], event, args: [] })
    await reaches(event, clients.slice(1))
  })

  test('a socket that has left a room gets nothing of it', async () => {
    const room = await roomOf(clients)
    await run(clients[0], 'leave', { room })
    assert.ok(!(await run(clients[0], 'rooms')).includes(room))
    const event = fresh()
    await run(clients[1], 'emit', { to: [room], event, args: [] })
    await reaches(event, clients.slice(1))
  })

  test('fetchSockets returns the sockets of all workers, with rooms and data, and without a token', async () => {
    const room = await roomOf(clients)
    await run(clients[0], 'set', { data: { color: 'red' } })
    const found = await run(/** @type {Client} */ (clients.at(-1)), 'fetch', { to: [room] })
    assert.deepEqual(ids(found), ids(clients))
    for (const { id, rooms, data, handshake } of found) {
      const { auth: sent } = /** @type {any} */ (clients.find((client) => client.id === id))
      const number = sent.client.slice('client-'.length)
      assert.ok(rooms.includes(room) && rooms.includes(id))
      assert.deepEqual(
        { ...data, color: undefined },
        { uid: `user-${number}`, name: `Name ${number}`, client: sent.client, grants: null, color: undefined }
      )
      assert.equal(data.color, id === clients[0].id ? 'red' : undefined)
      assert.equal(handshake.auth.client, sent.client)
      assert.ok(handshake.address && handshake.headers.host && handshake.query.EIO)
      assert.ok(!JSON.stringify(handshake).includes(sent.token))
    }
    assert.deepEqual(
      ids(await run(clients[0], 'fetch', { to: [room], local: true })),
      ids(clients.filter((client) => workerOf(client) === workerOf(clients[0])))
    )
    assert.deepEqual(await run(clients[0], 'fetch', { to: [fresh()] }), [])
  })

  test('socketsJoin and socketsLeave work on the sockets of all workers', async () => {
    const room = await roomOf(clients)
    const joined = fresh()
    await run(clients[0], 'socketsJoin', { to: [room], except: [clients[1].id], rooms: [joined] })
    const expected = clients.filter((client) => client !== clients[1])
    await waitFor(async () => (await run(clients[0], 'fetch', { to: [joined] })).length === expected.length)
    assert.deepEqual(ids(await run(clients[0], 'fetch', { to: [joined] })), ids(expected))
    await run(clients[0], 'socketsLeave', { to: [room], rooms: [joined] })
    await waitFor(async () => (await run(clients[0], 'fetch', { to: [joined] })).length === 0)
  })

  test('without a room, fetchSockets, socketsJoin and socketsLeave mean the whole namespace', async () => {
    const room = fresh()
    const members = async () => ids(await run(clients[0], 'fetch', { to: [room] }))
    const all = async () => ids(await run(clients[0], 'fetch'))
    // clients of other tests leave
    await waitFor(async () => (await all()).length === clients.length, { message: all })
    assert.deepEqual(await all(), ids(clients))
    await run(clients[0], 'socketsJoin', { rooms: [room] })
    await waitFor(async () => (await members()).length >= clients.length)
    assert.deepEqual(await members(), ids(clients))
    await run(clients[0], 'socketsLeave', { rooms: [room] })
    await waitFor(async () => (await members()).length === 0)
  })

  test('a socket that fetchSockets returned can be used, on whatever worker it is', async () => {
    for (const target of oneOfEach()) {
      const { id } = target
      const room = fresh()
      const event = fresh()
      await run(clients[0], 'remoteJoin', { id, room })
      await waitFor(async () => (await run(target, 'rooms')).includes(room))
      await run(clients[0], 'remoteLeave', { id, room })
      await waitFor(async () => !(await run(target, 'rooms')).includes(room))
      await run(clients[0], 'remoteEmit', { id, event, args: [1] })
      await reaches(event, [target])
      const question = fresh()
      target.once(question, (value, answer) => answer(value + 1))
      const ask = { id, timeout: PATIENCE, event: question, args: [1] }
      assert.equal(await run(clients[0], 'remoteEmitWithAck', ask), 2)
      const { error } = await run(clients[0], 'remoteEmitWithAck', { ...ask, timeout: 100 })
      assert.match(error, /timed out/)
    }
    for (const target of await someOnEach(scope, urls(), namespace)) {
      const reason = target.next('disconnect')
      await run(clients[0], 'remoteDisconnect', { id: target.id, close: false })
      assert.equal((await reason)[0], 'io server disconnect')
    }
  })

  test('a client that disconnects leaves its rooms', async () => {
    const own = await someOnEach(scope, urls(), namespace)
    const room = await roomOf([...own, clients[0]])
    for (const client of own) client.disconnect()
    await waitFor(async () => (await run(clients[0], 'fetch', { to: [room] })).length === 1)
  })

  test('a room of the same name in another namespace is another room', async () => {
    const room = await roomOf(clients)
    const other = namespace === '/chat' ? '/' : '/chat'
    const strangers = await someOnEach(scope, urls(), other)
    const [stranger] = strangers
    await run(stranger, 'join', { rooms: [room] })
    const event = fresh()
    await run(stranger, 'emit', { to: [room], event, args: [] })
    await waitFor(() => stranger.received.some((each) => each.event === event))
    await reaches(event, [])
    assert.deepEqual(ids(await run(stranger, 'fetch', { to: [room] })), [stranger.id])
    for (const client of strangers) client.disconnect()
  })

  test('emitWithAck returns the responses of the members on all workers', async () => {
    const room = await roomOf(clients)
    const event = fresh()
    for (const [i, client] of clients.entries())
      client.once(event, (value, bytes, answer) => answer({ i, value, bytes }))
    const responses = await run(clients[0], 'emitWithAck', {
      to: [room], timeout: PATIENCE, event, args: [7, BINARY]
    })
    assert.deepEqual(
      responses.map((/** @type {any} */ response) => ({ ...response, bytes: Buffer.from(response.bytes) }))
        .sort((/** @type {any} */ a, /** @type {any} */ b) => a.i - b.i),
      clients.map((_, i) => ({ i, value: 7, bytes: BINARY }))
    )
    assert.deepEqual(await run(clients[0], 'emitWithAck', { to: [fresh()], timeout: PATIENCE, event, args: [] }), [])
  })

  test('serverSideEmit reaches the other workers', async () => {
    const note = fresh()
    await run(clients[0], 'serverSideEmit', { args: [note, { more: 1 }] })
    for (const client of oneOfEach()) {
      const notes = async () => JSON.stringify(await run(client, 'notes'))
      if (workerOf(client) === workerOf(clients[0])) assert.ok(!(await notes()).includes(note))
      else await waitFor(async () => (await notes()).includes(`["${note}",{"more":1}]`), { message: notes })
    }
  })

  test('serverSideEmitWithAck returns the responses of the other workers', async () => {
    const question = fresh()
    const others = oneOfEach().filter((client) => workerOf(client) !== workerOf(clients[0]))
    const instances = await Promise.all(others.map((client) => run(client, 'instance')))
    const answers = await run(clients[0], 'serverSideEmitWithAck', { event: 'who', args: [question] })
    const byInstance = (/** @type {any} */ a, /** @type {any} */ b) => a[0] - b[0]
    assert.deepEqual(answers.sort(byInstance), instances.map((instance) => [instance, question]).sort(byInstance))
  })

  test('serverSideEmit stays in its namespace', async () => {
    const note = fresh()
    const strangers = await someOnEach(scope, urls(), namespace === '/chat' ? '/' : '/chat')
    await run(strangers[0], 'serverSideEmit', { args: [note] })
    await delay(50)
    for (const client of oneOfEach()) assert.ok(!JSON.stringify(await run(client, 'notes')).includes(note))
    for (const client of strangers) client.disconnect()
  })

  test('disconnectSockets ends the sockets of all workers', async () => {
    const own = await someOnEach(scope, urls(), namespace)
    const room = fresh()
    for (const client of own) await run(client, 'join', { rooms: [room] })
    const reasons = Promise.all(own.map((client) => client.next('disconnect')))
    await run(clients[0], 'disconnectSockets', { to: [room] })
    assert.deepEqual((await reasons).map(([reason]) => reason), own.map(() => 'io server disconnect'))
    assert.deepEqual(await run(clients[0], 'fetch', { to: [room] }), [])
  })

  if (namespace === '/') {
    test('emitWithAck fails at its timeout, with the responses until then', async () => {
      const room = await roomOf(clients)
      const event = fresh()
      for (const client of clients.slice(1)) client.once(event, (answer) => answer('here'))
      const { error, responses } = await run(clients[0], 'emitWithAck', { to: [room], timeout: 5000, event, args: [] })
      assert.match(error, /timed out/)
      assert.deepEqual(responses, clients.slice(1).map(() => 'here'))
    })

    test('serverSideEmitWithAck fails at its timeout of 5 s if another worker does not respond', async () => {
      const answer = await run(clients[0], 'serverSideEmitWithAck', { event: 'mute', args: [] })
      if (urls().length === 1) assert.deepEqual(answer, [])
      else assert.match(answer.error, new RegExp(`only 0 responses received out of ${urls().length - 1}`))
    })

    test('a document is a room: its connections are found, and leave it with socketsLeave', async () => {
      const guid = fresh()
      for (const client of clients) assert.equal((await client.ask('doc:join', { guid })).ok, true)
      assert.deepEqual(ids(await run(clients[0], 'fetch', { to: [`doc:${guid}`] })), ids(clients))
      const revoked = Promise.all(clients.slice(1).map((client) => client.next('doc:revoked')))
      await run(clients[0], 'socketsLeave', {
        to: [`doc:${guid}`], except: [clients[0].id], rooms: [`doc:${guid}`]
      })
      for (const [event] of await revoked) assert.deepEqual(event, { guid })
      const event = fresh()
      await clients[0].ask('doc:signal', { guid, event, data: 1 })
      await delay(100)
      assert.deepEqual(gotIt(event), [])
      assert.equal((await clients[1].ask('doc:join', { guid })).ok, true)
    })
  }

  /** @returns {Client[]} */
  function oneOfEach () {
    return [...new Map(clients.map((client) => [workerOf(client), client])).values()]
  }
}

/**
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @param {string[]} urls of each worker
 * @param {string} namespace
 * @returns {Promise<Client[]>} EACH clients on each worker
 */
async function someOnEach (scope, urls, namespace) {
  let made = 0
  const options = () => {
    const i = made++
    return {
      codec: /** @type {'json' | 'msgpack'} */ (i % 2 === 0 ? 'json' : 'msgpack'),
      transports: i % 3 === 2 ? ['polling'] : ['websocket'],
      auth: { token: sign({ sub: `user-${i}`, name: `Name ${i}` }), client: `client-${i}` }
    }
  }
  const clients = await Promise.all(urls.flatMap((url) =>
    Array.from({ length: EACH }, () => connectClient(scope, url + namespace, options()))))
  assert.equal(new Set(clients.map(workerOf)).size, urls.length)
  return clients
}
