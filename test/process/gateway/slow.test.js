import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const SIZE = 50_000
const FILL = 'x'.repeat(SIZE)
/** Much more than sockets take by themselves. */
const MANY = 600
const BOUND = 500_000

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [env]
 */
async function setUp (t, env = {}) {
  const server = await startEmbedded(t, { MAX_WAITING_BYTES: String(BOUND), MAX_EVENTS_PER_SECOND: '10000', ...env })
  const bus = watchBus(server)
  const other = await connectClient(t, server.url)
  const { position } = await other.ask('doc:join', { guid: 'doc' })
  let published = 0
  const read = async (/** @type {'waiting_bytes' | 'connections_behind' | 'slow_connections' | 'dropped_ephemerals'} */ name) => {
    await server.metrics.collect()
    return (await server.metrics[name].get()).values[0].value
  }
  return {
    server, bus, other, read, epoch: position.epoch,
    /** A client that has joined and reads nothing from now on. */
    async paused () {
      const client = await rawWebSocket(t, server.url)
      const sid = await client.connect({ documents: { doc: null } })
      await client.text(/doc:joined/)
      client.ws.pause()
      return Object.assign(client, { sid })
    },
    /** Publishes, as fast as the other client gets it. @param {number} count */
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
const numbers = ({ received }) => received.filter(({ event }) => event === 'message').map(({ payload }) => parseInt(payload))

/** @param {Awaited<ReturnType<typeof rawWebSocket>>} client @param {string} event @returns {any[]} payloads */
const eventsOf = ({ received }, event) => received.filter((data) => data.toString().startsWith(`42["${event}",`)).map((data) => JSON.parse(data.toString().slice(2))[1])

describe('a client that takes nothing', () => {
  test('delays nobody, does not make much wait, and gets every record in order when it reads again', async (t) => {
    const { server, bus, other, read, paused, publish } = await setUp(t)
    const slow = await paused()
    await publish(MANY)
    assert.equal(await read('connections_behind'), 1)
    const waiting = await read('waiting_bytes')
    assert.ok(waiting >= BOUND / 2 && waiting < BOUND + 2 * SIZE, `${waiting} bytes wait`)
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

  test('gets what the log has and the position that it lacks, when it waited too long', async (t) => {
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

  test('gets of signals the newest of each sender and event, and no other ephemeral ones', async (t) => {
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

  test('is closed after SLOW_TIMEOUT; a stock client comes back by itself and resumes', async (t) => {
    const { server, read, publish, epoch } = await setUp(t, { SLOW_TIMEOUT: '1000' })
    let offset = 0
    /** @type {number[]} */
    const got = []
    const client = createClient(t, server.url, { reconnection: true, auth: (/** @type {Function} */ done) => done({ documents: { doc: { epoch, offset } } }) })
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
    await waitFor(() => server.gateway.connections === 1)
    assert.equal(await read('slow_connections'), 1)
    ws.resume()
    await waitFor(() => got.length >= MANY, { timeout: 10_000, message: () => got.length })
    assert.deepEqual(reasons, ['transport close', 1013])
    assert.deepEqual(got, range(MANY, 1))
  })

  test('is closed when more waits that is in no log than twice the bound', async (t) => {
    const { server, read, paused } = await setUp(t)
    const { sid } = await paused()
    for (let i = 0; i < MANY && server.gateway.connections === 2; i++) await server.post(`/v1/sockets/${sid}/send`, FILL)
    await waitFor(() => server.gateway.connections === 1)
    assert.equal(await read('slow_connections'), 1)
  })

  test('is held to the same bounds with long polling, asked again or not, and gets every record in order', async (t) => {
    const { server, read, publish } = await setUp(t)
    const slow = await rawPolling(server.url)
    await slow.post('40{"documents":{"doc":null}}')
    assert.ok(await slow.until(/doc:joined/))
    await publish(100)
    const waits = async () => {
      const waiting = await read('waiting_bytes')
      assert.ok(waiting >= BOUND / 2 && waiting < BOUND + 2 * SIZE, `${waiting} bytes wait`)
    }
    await waits()
    // asks, and does not read the answer
    const stalled = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {})
    t.after(() => stalled.destroy())
    const { pathname, search } = new URL(slow.address)
    stalled.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await once(stalled, 'readable')
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

  test('leaves what may wait for all to the others as well', async (t) => {
    const { read, paused, publish } = await setUp(t, { MAX_WAITING_BYTES_TOTAL: '1000000' })
    const slow = await Promise.all(range(8).map(paused))
    await publish(MANY / 2)
    const waiting = await read('waiting_bytes')
    assert.ok(waiting >= 500_000 && waiting < 1_000_000 + slow.length * (2 ** 16 + SIZE), `${waiting} bytes wait`)
    for (const { ws } of slow) ws.resume()
    for (const client of slow) {
      await waitFor(() => eventsOf(client, 'message').length >= MANY / 2, { timeout: 10_000, message: () => eventsOf(client, 'message').length })
      assert.deepEqual(eventsOf(client, 'message').map((text) => parseInt(text)), range(MANY / 2, 1))
    }
  })
})
