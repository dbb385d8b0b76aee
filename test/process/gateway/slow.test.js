import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdableTime, holdTime } from '../../helpers/held-time.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket, stalledPoll } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const SIZE = 50_000
const FILL = 'x'.repeat(SIZE)
/** Much more than sockets buffer. */
const MANY = 300
const BOUND = 500_000

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [env]
 * @param {Parameters<typeof startEmbedded>[3]} [times]
 */
async function setUp (t, env = {}, times = {}) {
  const server = await startEmbedded(
    t, { MAX_WAITING_BYTES: String(BOUND), MAX_EVENTS_PER_SECOND: '10000', ...env }, undefined, times
  )
  const bus = watchBus(server)
  const other = await connectClient(t, server.url)
  const { position } = await other.ask('doc:join', { guid: 'doc' })
  let published = 0
  const read = async (
    /** @type {'waiting_bytes' | 'connections_behind' | 'slow_connections' | 'dropped_ephemerals'} */ name
  ) => {
    await server.metrics.collect()
    return (await server.metrics[name].get()).values[0].value
  }
  return {
    server, bus, other, read, epoch: position.epoch,
    /** A client that has joined and does not read from now on. */
    async paused () {
      const client = await rawWebSocket(t, server.url)
      const sid = await client.connect({ documents: { doc: null } })
      await client.text(/doc:joined/)
      client.ws.pause()
      return Object.assign(client, { sid })
    },
    /** Publishes at the rate at which the other client receives. @param {number} count */
    async publish (count) {
      for (let i = 0; i < count; i++) {
        await server.gateway.bus.publish([entry('doc', `${++published} ${FILL}`)])
        if (i % 20 === 19) await waitFor(() => numbers(other).at(-1) === published)
      }
      await waitFor(() => numbers(other).at(-1) === published)
    }
  }
}

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const numbers = ({ received }) =>
  received.filter(({ event }) => event === 'message').map(({ payload }) => parseInt(payload))

/** @param {Awaited<ReturnType<typeof rawWebSocket>>} client @param {string} event @returns {any[]} payloads */
const eventsOf = ({ received }, event) =>
  received.filter((data) => data.toString().startsWith(`42["${event}",`))
    .map((data) => JSON.parse(data.toString().slice(2))[1])

describe('a client that does not read', () => {
  test('delays no other, has a bounded backlog, and gets every record in order when it reads again', async (t) => {
    const { server, bus, other, read, paused, publish } = await setUp(t)
    const slow = await paused()
    await publish(MANY)
    assert.equal(await read('connections_behind'), 1)
    const waiting = await read('waiting_bytes')
    assert.ok(waiting >= BOUND / 2 && waiting < BOUND + 2 * SIZE, `${waiting} bytes queued`)
    slow.ws.resume()
    await waitFor(() => eventsOf(slow, 'message').length === MANY)
    await waitFor(async () => await read('connections_behind') === 0 && await read('waiting_bytes') === 0)
    await publish(10)
    await waitFor(() => eventsOf(slow, 'message').length >= MANY + 10)
    assert.deepEqual(eventsOf(slow, 'message').map((text) => parseInt(text)), range(MANY + 10, 1))
    assert.deepEqual(eventsOf(slow, 'doc:resync'), [])
    assert.equal(await read('slow_connections'), 0)
    slow.ws.close()
    other.disconnect()
    await nothingLeft(server, bus)
  })

  test('gets the records of the log, and a position for lost ones, after a long pause', async (t) => {
    const { read, paused, publish } = await setUp(t, { HISTORY_SIZE: '20' })
    const slow = await paused()
    await publish(MANY)
    slow.ws.resume()
    await waitFor(async () => eventsOf(slow, 'doc:resync').length === 1 && await read('connections_behind') === 0)
    const [{ position, reason }] = eventsOf(slow, 'doc:resync')
    assert.deepEqual([position.offset, reason], [MANY, 'trimmed'])
    await publish(5)
    await waitFor(() => parseInt(eventsOf(slow, 'message').at(-1)) === MANY + 5)
    const got = eventsOf(slow, 'message').map((text) => parseInt(text))
    assert.deepEqual(got, [...range(got.length - 5, 1), ...range(5, MANY + 1)])
  })

  test('gets the newest signal of each sender and event, and no other ephemeral records', async (t) => {
    const { server, other, read, paused, publish } = await setUp(t)
    const third = await connectClient(t, server.url)
    await third.ask('doc:join', { guid: 'doc' })
    const slow = await paused()
    await publish(MANY)
    for (let i = 1; i <= 200; i++) {
      other.emit('doc:signal', { guid: 'doc', event: 'cursor', data: i })
      third.emit('doc:signal', { guid: 'doc', event: 'cursor', data: -i })
      third.emit('doc:signal', { guid: 'doc', event: 'laser', data: i })
      server.gateway.bus.publish([entry('doc', i, { event: 'tick', ephemeral: true })])
    }
    await waitFor(() => other.received.at(-1)?.event === 'laser' && other.received.at(-1)?.payload === 200)
    await waitFor(async () => await read('dropped_ephemerals') === 3 * 199 + 200)
    slow.ws.resume()
    await waitFor(() => eventsOf(slow, 'message').length === MANY)
    assert.deepEqual(eventsOf(slow, 'cursor').sort((a, b) => a - b), [-200, 200])
    assert.deepEqual(eventsOf(slow, 'laser'), [200])
    assert.deepEqual(eventsOf(slow, 'tick'), [])
    await server.gateway.bus.publish([entry('doc', 'live', { event: 'tick', ephemeral: true })])
    await waitFor(() => eventsOf(slow, 'tick').length === 1)
  })

  test('is closed when it is behind for too long; a stock client reconnects by itself and resumes', async (t) => {
    const { clock, pass } = holdTime(t)
    const { server, read, publish, epoch } = await setUp(t, {}, { clock, slowTimeout: 1000 })
    let offset = 0
    /** @type {number[]} */
    const got = []
    const client = createClient(t, server.url, {
      reconnection: true,
      auth: (/** @type {Function} */ done) => done({ documents: { doc: { epoch, offset } } })
    })
    client.on('message', (text, meta) => {
      got.push(parseInt(text))
      offset = meta.offset
    })
    /** @type {any[]} */
    const reasons = []
    client.on('disconnect', (reason, details) => reasons.push(reason, /** @type {any} */ (details)?.context?.code))
    await client.next('doc:joined')
    const { ws } = /** @type {any} */ (client.io.engine).transport
    ws.pause()
    await publish(MANY)
    assert.equal(await read('connections_behind'), 1)
    pass(999)
    assert.equal(await read('slow_connections'), 0)
    pass(1)
    await waitFor(() => server.gateway.connections === 1)
    assert.equal(await read('slow_connections'), 1)
    ws.resume()
    await waitFor(() => got.length >= MANY, { timeout: 10_000, message: () => got.length })
    assert.deepEqual(reasons, ['transport close', 1013])
    assert.deepEqual(got, range(MANY, 1))
  })

  test('is closed when its queued ephemeral messages exceed twice the bound', async (t) => {
    const { server, read, paused } = await setUp(t)
    const { sid } = await paused()
    for (let i = 0; i < MANY && server.gateway.connections === 2; i++)
      await server.post(`/v1/sockets/${sid}/send`, FILL)
    await waitFor(() => server.gateway.connections === 1)
    assert.equal(await read('slow_connections'), 1)
  })

  test('has the same bounds with long polling, with and without a pending poll, and gets every record in order', async (t) => {
    const { server, read, publish } = await setUp(t)
    const slow = await rawPolling(server.url)
    await slow.post('40{"documents":{"doc":null}}')
    assert.ok(await slow.until(/doc:joined/))
    await publish(100)
    const waits = async () => {
      const waiting = await read('waiting_bytes')
      assert.ok(waiting >= BOUND / 2 && waiting < BOUND + 2 * SIZE, `${waiting} bytes queued`)
    }
    await waits()
    // polls without reading the response
    const stalled = await stalledPoll(t, slow.address)
    await publish(100)
    await waits()
    assert.equal(await read('connections_behind'), 1)
    /** @type {string} */
    let text = ''
    const numbersIn = () => [...text.matchAll(/42\["message","(\d+) /g)].map(([, number]) => Number(number))
    stalled.on('data', (chunk) => { text += chunk })
    await waitFor(() => text.length >= Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Infinity))
    for (let polls = 0; polls < 400 && numbersIn().length < 200; polls++) text += (await slow.poll()).text
    assert.deepEqual(numbersIn(), range(200, 1))
    assert.equal(await read('slow_connections'), 0)
  })
})

describe('a client that sends requests and does not read responses', () => {
  /**
   * @param {import('node:test').TestContext} t
   * @param {Record<string, string>} [env]
   * @param {Parameters<typeof startEmbedded>[3]} [times]
   */
  async function setUpMembers (t, env = {}, times = {}) {
    const { server, read } = await setUp(
      t, { MAX_RECORD_BYTES: '100000', MAX_BYTES_PER_SECOND: '10000000', ...env }, times
    )
    const tabs = await Promise.all(range(20).map(() => connectClient(t, server.url)))
    for (const tab of tabs) await tab.ask('doc:join', { guid: 'doc', state: { text: 'x'.repeat(2000) } })
    const answer = JSON.stringify(await tabs[0].ask('doc:members', { guid: 'doc' })).length
    assert.ok(answer > 20 * 2000)
    const others = server.gateway.connections
    let most = 0
    return {
      server, read, answer, others,
      get most () { return most },
      /** @param {string} id of the newest Engine.IO session */
      watch (id) {
        const conn = /** @type {any} */ (server.gateway.engine.sessions().find((session) => session.id === id))
        // bytes queued before each packet
        conn.on('packetCreate', () => {
          const waiting = conn.writeBuffer.reduce(
            (/** @type {number} */ sum, /** @type {any} */ { data }) => sum + (data?.length ?? 0),
            0
          )
          most = Math.max(most, waiting)
        })
        return conn
      },
      get left () { return server.gateway.connections === others }
    }
  }

  /** @param {number} id of the acknowledgement */
  const question = (id) => `42${id}["doc:members",{"guid":"doc"}]`

  for (const compressed of [false, true]) {
    test(`is closed when responses exceed twice the bound, on ${compressed
      ? 'a WebSocket of the ws library'
      : 'a WebSocket'}`, async (t) => {
      const members = await setUpMembers(t, compressed ? { COMPRESS_FROM: '1000' } : {})
      const client = await rawWebSocket(t, members.server.url)
      await client.connect({ documents: { doc: null } })
      await client.text(/doc:joined/)
      members.watch(await sidOf(client))
      client.ws.pause()
      for (let id = 0; id < MANY && !members.left; id += 20) {
        client.send(...range(20, id).map(question))
        await new Promise(setImmediate)
      }
      await waitFor(() => members.left)
      assert.ok(members.most > BOUND && members.most <= 2 * BOUND + 2 * members.answer, `${members.most} bytes queued`)
      assert.equal(await members.read('slow_connections'), 1)
      await waitFor(async () => (await members.read('waiting_bytes')) === 0)
    })
  }

  for (const compressed of [false, true]) {
    test(`gets no pongs while it is behind, ${compressed ? 'with compression' : 'without compression'}`, async (t) => {
      const server = await startEmbedded(t, compressed ? { COMPRESS_FROM: '1000' } : {})
      const client = await rawWebSocket(t, server.url)
      await client.connect({ documents: { doc: null } })
      await client.text(/doc:joined/)
      const conn = server.gateway.engine.sessionOf(await sidOf(client))
      client.ws.pause()
      while (conn.bufferedAmount === 0) {
        // random data, which does not compress
        await server.post('/v1/documents/doc/broadcast', randomBytes(100_000).toString('base64'))
      }
      const said = once(conn, 'data')
      for (let i = 0; i < 100; i++) client.ws.ping('early')
      client.send('42["nothing"]')
      await said
      /** @type {string[]} */
      const pongs = []
      client.ws.on('pong', (data) => pongs.push(data.toString()))
      client.ws.resume()
      await waitFor(() => conn.bufferedAmount === 0)
      client.ws.ping('late')
      await once(client.ws, 'pong')
      assert.deepEqual(pongs, ['late'])
    })
  }

  test('is closed when responses exceed twice the bound, with long polling', async (t) => {
    const members = await setUpMembers(t)
    const client = await rawPolling(members.server.url)
    await client.post('40{"documents":{"doc":null}}')
    assert.ok(await client.until(/doc:joined/))
    members.watch(client.sid)
    for (let id = 0; id < MANY && !members.left; id += 20) await client.post(range(20, id).map(question).join('\x1e'))
    assert.ok(members.left)
    assert.ok(members.most > BOUND && members.most <= 2 * BOUND + 2 * members.answer, `${members.most} bytes queued`)
    assert.equal(await members.read('slow_connections'), 1)
  })

  test('is closed when it reads nothing for too long, regardless of its input, on a WebSocket', async (t) => {
    const { clock, hold, pass } = holdableTime(t)
    const members = await setUpMembers(t, { MAX_WAITING_BYTES: '100000000' }, { clock, slowTimeout: 1000 })
    const client = await rawWebSocket(t, members.server.url)
    await client.connect({ documents: { doc: null } })
    await client.text(/doc:joined/)
    const conn = members.watch(await sidOf(client))
    let handled = 0
    conn.on('data', (/** @type {string} */ data) => { if (data.includes('doc:leave')) handled++ })
    client.ws.pause()
    client.send(...range(MANY).map(question))
    await waitFor(() => !conn.transport.writable)
    hold()
    for (let rounds = 0; rounds < 100 && !members.left; rounds++) {
      client.send('42["doc:leave",{"guid":"none"}]')
      await waitFor(() => handled > rounds || members.left)
      pass(100)
      await members.read('waiting_bytes')
    }
    assert.ok(members.left)
    assert.equal(await members.read('slow_connections'), 1)
  })

  test('is closed when it reads nothing for too long, regardless of its input, with long polling', async (t) => {
    const { clock, hold, pass } = holdableTime(t)
    const members = await setUpMembers(t, {}, { clock, slowTimeout: 1000 })
    const client = await rawPolling(members.server.url)
    await client.post('40{"documents":{"doc":null}}')
    assert.ok(await client.until(/doc:joined/))
    hold()
    for (let rounds = 0; rounds < 100 && !members.left; rounds++) {
      await client.post('421["doc:leave",{"guid":"none"}]')
      pass(100)
      await members.read('waiting_bytes')
    }
    assert.ok(members.left)
    assert.equal(await members.read('slow_connections'), 1)
  })

  test('stays connected when it reads slowly but steadily, and gets every response', async (t) => {
    const { clock, hold, pass } = holdableTime(t)
    const many = 2 * MANY
    const members = await setUpMembers(t, { MAX_WAITING_BYTES: '30000000' }, { clock, slowTimeout: 2500 })
    const client = await rawWebSocket(t, members.server.url)
    await client.connect({ documents: { doc: null } })
    await client.text(/doc:joined/)
    const conn = members.watch(await sidOf(client))
    hold()
    client.ws.pause()
    client.send(...range(many).map(question))
    await waitFor(() => !conn.transport.writable)
    const answers = () => client.received.filter((data) => data.toString().startsWith('43')).length
    // it reads one piece, and waits
    client.ws.on('message', () => client.ws.pause())
    let waited = 0
    let unsent = 0
    while (answers() < many && client.open) {
      const read = Promise.race([once(client.ws, 'message'), client.closed])
      client.ws.resume()
      await read
      if (waited >= 10_000 || conn.unsentBytes() === unsent) continue
      pass(2000)
      waited += 2000
      await members.read('waiting_bytes')
      unsent = conn.unsentBytes()
    }
    assert.equal(answers(), many)
    assert.ok(waited > 2500, 'it waited for longer than the limit')
    assert.equal(await members.read('slow_connections'), 0)
  })

  test('stays connected when it polls at intervals, with long polling', async (t) => {
    const { clock, hold, pass } = holdableTime(t)
    const members = await setUpMembers(t, {}, { clock, slowTimeout: 2500 })
    const client = await rawPolling(members.server.url)
    await client.post('40{"documents":{"doc":null}}')
    assert.ok(await client.until(/doc:joined/))
    hold()
    let answers = 0
    for (let id = 1; id <= 35; id++) {
      const { status } = await client.post(question(id))
      assert.equal(status, 200)
      pass(400)
      await members.read('waiting_bytes')
      if (id % 5 === 0) answers += ((await client.poll()).text.match(/43\d+\[/g) ?? []).length
    }
    for (let polls = 0; polls < 10 && answers < 35; polls++)
      answers += ((await client.poll()).text.match(/43\d+\[/g) ?? []).length
    assert.equal(answers, 35)
    assert.equal(await members.read('slow_connections'), 0)
  })
})

/** @param {Awaited<ReturnType<typeof rawWebSocket>>} client @returns {Promise<string>} id of its Engine.IO session */
const sidOf = async (client) => JSON.parse((await client.text(/^0\{/)).slice(1)).sid
