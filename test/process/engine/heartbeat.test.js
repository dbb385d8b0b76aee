import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const MAX = 2500
const TIMEOUT = 3000
/**
 * Additional time for a busy machine, ms: events occur in order, and not early, but may be late.
 */
const PATIENCE = 30_000

const file = { after }
/** @param {number} timeout ms */
const startServer = (timeout) => startEmbedded(file, {
  NETWORK: `1000:${MAX}:${timeout},editors:1000:1000:1000`,
  AUTH_JWT_SECRET: SECRET,
  AUTH_ALLOW_ANONYMOUS: 'true'
})
const server = await startServer(TIMEOUT)
/** Its usual clients stay, also if a busy machine stops the process for seconds. */
const patient = await startServer(60_000)
const bus = watchBus(server)
const patientBus = watchBus(patient)
const { url, gateway, metrics } = server

/** @param {'heartbeats' | 'expired_connections'} name @returns {Promise<number>} */
const count = async (name) => (await metrics[name].get()).values[0]?.value ?? 0

/** @param {Awaited<ReturnType<typeof connectClient>>} client @returns {{ count: number }} of pings from now on */
function pingsOf (client) {
  const pings = { count: 0 }
  client.io.on('ping', () => { pings.count++ })
  return pings
}

/**
 * Records the ends of sessions, in order.
 * @param {Record<string, string>} sids by name
 * @param {typeof server} [of]
 * @returns {string[]} filled with name and reason
 */
function endsOf (sids, of = server) {
  /** @type {string[]} */
  const ends = []
  for (const [name, sid] of Object.entries(sids))
    of.gateway.engine.sessionOf(sid).on('close', (/** @type {string} */ reason) => ends.push(`${name}: ${reason}`))
  return ends
}

/** @param {() => unknown} condition brought about by a heartbeat */
const inTime = (condition) => waitFor(condition, { timeout: MAX + TIMEOUT + PATIENCE })

/**
 * @param {Awaited<ReturnType<typeof rawWebSocket>>} client
 * @returns {{ sid: string, pingInterval: number, pingTimeout: number }}
 */
const openOf = (client) => JSON.parse(client.received[0].slice(1).toString())

describe('the heartbeat', { concurrency: true }, () => {
  for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
    // that the interval grows: test/unit/heartbeat/
    test(`keeps a stock client over ${transports.join(' and then ')}`, async (t) => {
      const client = await connectClient(t, patient.url, { transports })
      const pings = pingsOf(client)
      client.on('disconnect', (reason) => assert.fail(reason))
      await waitFor(() => pings.count > 3, { timeout: 4 * MAX + PATIENCE, message: () => pings })
      client.off('disconnect')
      assert.equal(client.io.engine.transport.name, transports.at(-1))
    })
  }

  test('closes a WebSocket without pongs, not before its timeout, and with its descriptor', async (t) => {
    const [before, begin] = [await count('expired_connections'), performance.now()]
    const client = await rawWebSocket(t, url)
    await client.connect()
    const { sid, pingInterval, pingTimeout } = openOf(client)
    assert.deepEqual([pingInterval, pingTimeout], [MAX, TIMEOUT])
    const { netSocket } = gateway.engine.sessionOf(sid)
    const ends = endsOf({ silent: sid })
    await inTime(() => ends.length > 0)
    const time = performance.now() - begin
    assert.deepEqual(ends, ['silent: ping timeout'])
    assert.ok(time > 1000 + TIMEOUT - 10, `${time} ms`)
    assert.ok(await count('expired_connections') > before, 'by this heartbeat')
    assert.ok(netSocket.destroyed)
    await client.closed
    assert.ok(client.received.includes('2'), 'it got a ping before')
  })

  test('closes sessions that never connected, on both transports', async (t) => {
    const before = await count('expired_connections')
    const client = await rawWebSocket(t, url)
    const { sid } = await rawPolling(url)
    await inTime(() => !client.open && gateway.engine.sessionOf(sid) === undefined)
    assert.ok(await count('expired_connections') >= before + 2)
  })

  test('closes a polling client that disappears during a poll, or between two polls', async () => {
    const [silent, polling] = [await rawPolling(url), await rawPolling(url)]
    await silent.connect()
    await polling.connect()
    const ends = endsOf({ silent: silent.sid, polling: polling.sid })
    const transports = [silent, polling].map(({ sid }) => gateway.engine.sessionOf(sid).transport)
    assert.equal((await polling.poll()).text, '2')
    await inTime(() => ends.length === 2)
    assert.deepEqual(ends.sort(), ['polling: ping timeout', 'silent: ping timeout'])
    assert.deepEqual(transports.map(({ readyState }) => readyState), ['closed', 'closed'], 'without waiting for a poll')
  })

  test('counts any packet as a sign of life', async (t) => {
    const client = await rawWebSocket(t, url)
    await client.connect()
    const begin = performance.now()
    while (performance.now() - begin < MAX + TIMEOUT + 1000) {
      client.send('420["doc:leave",{"guid":"x"}]')
      await new Promise((resolve) => setTimeout(resolve, 700))
    }
    assert.ok(client.open)
    assert.ok(client.received.includes('2'), 'a client resets its own timer only by a ping')
  })

  test('uses the interval of the tier', async (t) => {
    const token = await signToken({ sub: 'ada', tier: 'editors' })
    const [usual, editor] = await Promise.all([undefined, { token }].map(async (auth) => {
      const client = await rawWebSocket(t, patient.url)
      await client.connect(auth)
      return client
    }))
    const ends = endsOf({ usual: openOf(usual).sid, editor: openOf(editor).sid }, patient)
    await inTime(() => ends.length > 0)
    assert.deepEqual([ends, usual.open], [['editor: ping timeout'], true])
  })

  after(async () => {
    await nothingLeft(server, bus)
    await nothingLeft(patient, patientBus)
  })
})
