import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { range } from '../../contract/bus-fixture.js'
import { createClient } from '../../helpers/clients.js'
import { countedBy } from '../../helpers/counted.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { rawPolling } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { EngineSocket } from '../../../src/transport/engine/engine-socket.js'

const LIMIT = 8
const UPGRADE =
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: ' +
  '13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'

/** @param {Awaited<ReturnType<typeof startEmbedded>>} server */
const results = ({ metrics }) => countedBy(metrics.handshakes)

/** @param {Awaited<ReturnType<typeof startEmbedded>>} server @param {number} count of requests in the queue */
const waits = ({ metrics }, count) => waitFor(async () => {
  await metrics.collect()
  return (await metrics.handshakes_waiting.get()).values[0].value === count
}, { message: `${count} waiting requests` })

for (const transport of ['websocket', 'polling']) {
  test(`stock clients above the limit reconnect by themselves: ${transport}`, async (t) => {
    const time = holdTime(t)
    const env = { MAX_HANDSHAKES_PER_SECOND: String(LIMIT) }
    const server = await startEmbedded(t, env, undefined, { clock: time.clock })
    const clients = range(3 * LIMIT).map(() =>
      createClient(t, server.url, { transports: [transport], reconnection: true })
    )
    const refused = new Set()
    for (const client of clients) client.on('connect_error', () => refused.add(client))
    const connected = () => clients.filter((client) => client.connected).length
    await waitFor(() => connected() + refused.size === 2 * LIMIT, {
      message: () => `${connected()} are connected, ${refused.size} refused`
    })
    await waits(server, LIMIT)
    assert.deepEqual([connected(), refused.size], [LIMIT, LIMIT])
    time.goOn()
    await waitFor(() => connected() === 3 * LIMIT, { timeout: 20_000, message: () => `${connected()} are connected` })
    assert.equal((await results(server))['ok socketio'], 3 * LIMIT)
  })
}

test('requests above the queue get a retry delay; existing sessions are served; a client that disconnects delays no other', async (t) => {
  const origin = 'https://page.example.com'
  const time = holdTime(t)
  const server = await startEmbedded(
    t, { MAX_HANDSHAKES_PER_SECOND: '5', ALLOWED_ORIGINS: origin }, undefined, { clock: time.clock }
  )
  const { port } = new URL(server.url)
  const session = await rawPolling(server.url)
  const upgrade = () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    socket.write(UPGRADE)
    return socket
  }
  const answered = () => once(upgrade(), 'data', { signal: AbortSignal.timeout(15_000) })
  await Promise.all(range(4).map(answered))
  const first = upgrade()
  await waits(server, 1)
  const queued = range(4).map(answered)
  await waits(server, 5)
  first.resetAndDestroy()
  const refused = await Promise.all(
    range(5).map(() => fetch(`${server.url}/socket.io/?EIO=4&transport=polling`, { headers: { origin } }))
  )
  for (const answer of refused) {
    assert.equal(answer.status, 503)
    const seconds = Number(answer.headers.get('retry-after'))
    assert.ok(seconds >= 1 && seconds <= 5)
    // otherwise a browser would withhold the response from its page
    assert.deepEqual(
      ['origin', 'credentials'].map((name) => answer.headers.get(`access-control-allow-${name}`)),
      [origin, 'true']
    )
    assert.equal(answer.headers.get('access-control-expose-headers'), 'Retry-After')
    assert.equal(answer.headers.get('vary'), 'Origin')
    assert.deepEqual(await answer.json(), {
      code: 'unavailable',
      message: 'too many clients at the moment',
      retryable: true
    })
  }
  assert.equal(typeof (await session.connect()), 'string')
  // enough for four
  time.pass(801)
  for (const [answer] of await Promise.all(queued)) assert.match(String(answer), /^HTTP\/1\.1 101 /)
  time.goOn()
  await waitFor(async () => (await fetch(`${server.url}/socket.io/?EIO=4&transport=polling`)).status === 200)
})

test('an empty sid counts as none: it starts a session, and a WebSocket gets a session of the gateway', async (t) => {
  const time = holdTime(t)
  const server = await startEmbedded(t, { MAX_HANDSHAKES_PER_SECOND: '2' }, undefined, { clock: time.clock })
  const { port } = new URL(server.url)
  const request = UPGRADE.replace('transport=websocket', 'transport=websocket&sid=')
  const first = connect(Number(port), '127.0.0.1').on('error', () => {})
  t.after(() => first.destroy())
  first.write(request)
  await waitFor(() => server.gateway.engine.sessions()[0] instanceof EngineSocket)
  /** @type {number[]} */
  const answers = []
  const asked = Promise.all(range(40).map(async () => {
    answers.push((await fetch(`${server.url}/socket.io/?EIO=4&transport=polling&sid=`)).status)
  }))
  await waitFor(() => answers.length === 38, { message: () => answers.join() })
  assert.deepEqual(answers.sort(), [200, ...Array(37).fill(503)], 'two wait')
  time.goOn()
  await asked
  assert.equal(answers.filter((answer) => answer === 200).length, 3)
})

test('a temporary refusal has a retry delay, and a client that respects it is served', async (t) => {
  const { gateway, url } = await startEmbedded(t)
  const { addUser } = gateway.bus
  gateway.bus.addUser = async () => { throw new InkcastError('unavailable') }
  const client = createClient(t, url, { reconnection: true })
  const [{ data: { retryInMs, ...data } }] = await client.next('connect_error')
  assert.deepEqual(data, { code: 'unavailable', retryable: true })
  assert.ok(retryInMs >= 1000 && retryInMs <= 5000, `${retryInMs} ms`)
  assert.equal(client.active, false)
  gateway.bus.addUser = addUser
  client.connect()
  await waitFor(() => client.connected)
})

test('a client that sends more while its WebSocket is queued is disconnected, and not passed to Node', async (t) => {
  const { clock } = holdTime(t)
  const server = await startEmbedded(t, { MAX_HANDSHAKES_PER_SECOND: '1' }, undefined, { clock })
  const sockets = range(2).map(() => connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {}))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.write(UPGRADE)
  await waits(server, 1)
  const answers = sockets.map(() => '')
  sockets.forEach((socket, i) => socket.on('data', (chunk) => { answers[i] += chunk }))
  const closed = sockets.map((socket, i) => new Promise((resolve) => socket.once('close', () => resolve(i))))
  await waitFor(() => answers.some((answer) => answer.startsWith('HTTP/1.1 101 ')))
  const waiting = answers.indexOf('')
  sockets[waiting].write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal(await Promise.race(closed), waiting)
  assert.equal(answers[waiting], '')
})
