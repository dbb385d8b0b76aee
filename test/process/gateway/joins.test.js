import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { entry } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * A server whose bus completes subscriptions only when the test lets it.
 * @param {import('node:test').TestContext} t
 */
async function setUp (t) {
  const server = await startEmbedded(t)
  const bus = watchBus(server)
  const client = await connectClient(t, server.url)
  /** @type {((error?: Error) => void)[]} */
  const waiting = []
  bus.beforeSubscribe = () =>
    new Promise((resolve, reject) => {
      waiting.push((error) => (error ? reject(error) : resolve(undefined)))
    })
  return {
    server, bus, client,
    subscribing: () => waitFor(() => waiting.length > 0, { message: 'a subscribe' }),
    /** @param {Error} [error] */
    goOn (error) {
      bus.beforeSubscribe = () => undefined
      for (const done of waiting.splice(0)) done(error)
    }
  }
}

/** @param {any} answer */
const codeOf = ({ ok, error }) => ok ? 'ok' : error.code

describe('a pending join', () => {
  test('can be left: nothing is joined, and the document can be joined again at once', async (t) => {
    const { server, bus, client, subscribing, goOn } = await setUp(t)
    const first = client.ask('doc:join', { guid: 'doc' })
    await subscribing()
    assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'ok')
    const second = client.ask('doc:join', { guid: 'doc' })
    const early = await client.ask('doc:send', { guid: 'doc', data: 1 })
    goOn()
    assert.deepEqual([codeOf(await first), codeOf(early), codeOf(await second)], ['not_joined', 'not_joined', 'ok'])
    await server.post('/v1/documents/doc/broadcast', 'once')
    await waitFor(() => client.received.length > 0)
    assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'ok')
    assert.deepEqual(client.received.map(({ payload }) => payload), ['once'])
    await waitFor(() => bus.documents.size === 0, { message: 'the document to be left' })
    assert.equal(server.gateway.io.sockets.adapter.rooms.has('doc:doc'), false)
  })

  test('can be left for good: the feed is closed when its subscription is complete', async (t) => {
    const { server, bus, client, subscribing, goOn } = await setUp(t)
    const join = client.ask('doc:join', { guid: 'doc' })
    await subscribing()
    assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'ok')
    goOn()
    assert.equal(codeOf(await join), 'not_joined')
    client.disconnect()
    await nothingLeft(server, bus)
  })

  test('is not started a second time: a repeated request, after a timeout, gets the response to the first', async (t) => {
    const { client, bus, subscribing, goOn } = await setUp(t)
    await assert.rejects(client.timeout(1).emitWithAck('doc:join', { guid: 'doc' }))
    await subscribing()
    const second = client.ask('doc:join', { guid: 'doc' })
    const third = client.ask('doc:join', { guid: 'doc', members: true })
    await client.ask('nothing')
    goOn()
    const [{ ok, position, ...rest }, { members, ...more }] = await Promise.all([second, third])
    assert.deepEqual([ok, rest], [true, { guid: 'doc', recovered: false }])
    assert.deepEqual([more.position, members.length], [position, 1])
    assert.deepEqual([...bus.documents], ['doc'])
    const again = await client.ask('doc:join', { guid: 'doc' })
    assert.deepEqual([again.ok, again.recovered], [true, false])
  })

  test('fails, or is left, for all requests that wait for it, whose number is limited', async (t) => {
    for (const [leaves, code] of /** @type {const} */ ([[false, 'unavailable'], [true, 'not_joined']])) {
      const { client, subscribing, goOn } = await setUp(t)
      const joins = Array.from({ length: 11 }, () => client.ask('doc:join', { guid: 'doc' }))
      await subscribing()
      assert.equal(codeOf(await client.ask('doc:join', { guid: 'doc' })), 'rate_limited')
      if (leaves) assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'ok')
      goOn(new Error('away'))
      assert.deepEqual((await Promise.all(joins)).map(codeOf), joins.map(() => code))
      assert.equal(codeOf(await client.ask('doc:join', { guid: 'doc' })), 'ok')
    }
  })

  test('from a handshake can be left without a report, because its guid may be open again', async (t) => {
    for (const [error, codes] of /** @type {const} */ ([
      [undefined, ['ok', 'ok']],
      [new Error('away'), ['unavailable', 'ok']]
    ])) {
      const { server, subscribing, goOn } = await setUp(t)
      const client = createClient(t, server.url, { auth: { documents: { doc: null } } })
      await subscribing()
      assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'ok')
      const second = client.ask('doc:join', { guid: 'doc' })
      await client.ask('nothing')
      goOn(error)
      assert.deepEqual([codeOf(await second), codeOf(await client.ask('doc:join', { guid: 'doc' }))], codes)
      assert.deepEqual(client.received, [])
    }
  })

  test('ends with its connection', async (t) => {
    const { server, bus, client, subscribing, goOn } = await setUp(t)
    for (let i = 0; i < 5; i++) client.emit('doc:join', { guid: `doc ${i}` })
    await subscribing()
    client.disconnect()
    await waitFor(() => server.gateway.connections === 0)
    goOn()
    await nothingLeft(server, bus)
  })

  test('ends with a kick and with a revocation', async (t) => {
    const { server, bus, client, subscribing, goOn } = await setUp(t)
    const unanswered = assert.rejects(client.ask('doc:join', { guid: 'revoked' }), 'the connection is closed')
    await subscribing()
    const [uid] = bus.users
    assert.equal((await server.post('/v1/documents/revoked/revoke', { uid })).status, 202)
    await waitFor(() => client.received.some(({ event }) => event === 'doc:revoked'))
    client.emit('doc:join', { guid: 'kicked' })
    await client.ask('nothing')
    const gone = client.next('disconnect')
    await fetch(`${server.apiUrl}/v1/users/${uid}/connections`, { method: 'DELETE' })
    await gone
    goOn()
    await unanswered
    await nothingLeft(server, bus)
  })

  test('fails when the bus does, and the next one starts again', async (t) => {
    const { bus, client, subscribing, goOn } = await setUp(t)
    const joins = [client.ask('doc:join', { guid: 'doc' }), client.ask('doc:join', { guid: 'other' })]
    await subscribing()
    await client.ask('nothing')
    goOn(new Error('away'))
    assert.deepEqual((await Promise.all(joins)).map(codeOf), ['unavailable', 'unavailable'])
    assert.deepEqual([...bus.documents], [])
    assert.equal(codeOf(await client.ask('doc:send', { guid: 'doc', data: 1 })), 'not_joined')
    assert.equal(codeOf(await client.ask('doc:leave', { guid: 'doc' })), 'not_joined')
    assert.equal(codeOf(await client.ask('doc:join', { guid: 'doc' })), 'ok')
    assert.deepEqual([...bus.documents], ['doc'])
  })
})

test('the last of several unawaited joins and leaves decides', async (t) => {
  const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '100000' })
  const bus = watchBus(server)
  const clients = await Promise.all([0, 1, 2].map(() => connectClient(t, server.url)))
  bus.beforeSubscribe = () =>
    Math.random() < 0.5 ? new Promise((resolve) => setTimeout(resolve, Math.random() * 5)) : undefined
  const guids = ['a', 'b', 'c']

  /**
   * @param {Awaited<ReturnType<typeof connectClient>>} client
   * @param {string} guid
   * @returns {Promise<string | undefined>} the guid, if the last request was a join
   */
  async function joinsAndLeaves (client, guid) {
    let event = 'doc:leave'
    for (let i = Math.floor(Math.random() * 8); i >= 0; i--) {
      event = Math.random() < 0.5 ? 'doc:join' : 'doc:leave'
      client.emit(event, { guid })
    }
    const answer = await client.ask(event, { guid })
    if (event === 'doc:join') assert.equal(codeOf(answer), 'ok')
    return event === 'doc:join' ? guid : undefined
  }

  for (let round = 0; round < 10; round++) {
    const open = await Promise.all(
      clients.map((client) => Promise.all(guids.map((guid) => joinsAndLeaves(client, guid))))
    )
    await waitFor(() => guids.every((guid) => bus.documents.has(guid) === open.flat().includes(guid)), {
      message: () => [[...bus.documents], open]
    })
    for (const client of clients) client.received.length = 0
    for (const guid of guids) await server.gateway.bus.publish([entry(guid, guid)])
    // the bus delivers in the next turn; a client's request from a timer would be answered before
    await new Promise(setImmediate)
    await Promise.all(clients.map((client) => client.ask('nothing')))
    assert.deepEqual(
      clients.map(({ received }) => received.map(({ payload }) => payload)),
      open.map((joined) => joined.filter((guid) => guid !== undefined))
    )
  }
  for (const client of clients) client.disconnect()
  await nothingLeft(server, bus)
})
