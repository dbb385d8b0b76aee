import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { countedBy } from '../../helpers/counted.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { connectionsFor } from '../../../src/base/process/descriptors.js'
import { freePorts } from '../../services/ports.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const POLLING = '/socket.io/?EIO=4&transport=polling'

/** @param {Awaited<ReturnType<typeof startEmbedded>>} server @returns {Promise<Record<string, number>>} by reason */
const refusals = ({ metrics }) => countedBy(metrics.connections_refused)

/**
 * @param {string} url
 * @param {string} [headers]
 * @param {string} [path]
 * @returns {Promise<number | string>} the status of a WebSocket's handshake
 */
async function upgrade (url, headers = '', path = '/socket.io/?EIO=4&transport=websocket') {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ` +
    `AAAAAAAAAAAAAAAAAAAAAA==\r\n${headers}\r\n`
  )
  try {
    const [bytes] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    return Buffer.isBuffer(bytes) ? Number(/ (\d+) /.exec(bytes.toString())?.[1]) : 'closed'
  } catch {
    return 'closed'
  } finally {
    socket.destroy()
  }
}

test('a full worker refuses connections with 503 and a retry delay, and existing ones are not affected', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS: '6', ALLOWED_ORIGINS: 'https://page.example.com' })
  const clients = await Promise.all(range(6).map(() => connectClient(t, server.url)))
  const answer = await fetch(server.url + POLLING, {
    headers: { origin: 'https://page.example.com', connection: 'close' }
  })
  assert.equal(answer.status, 503)
  const seconds = Number(answer.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 5)
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://page.example.com')
  assert.deepEqual(await answer.json(), {
    code: 'too_many_connections',
    message: 'too many connections',
    retryable: true
  })
  assert.equal(await upgrade(server.url), 503)
  assert.equal((await refusals(server)).worker, 2)
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
  await server.metrics.collect()
  assert.ok((await server.metrics.sockets.get()).values[0].value >= 6)
  // a stock client reconnects by itself when there is room again
  const waiting = createClient(t, server.url, { reconnection: true })
  await once(/** @type {any} */ (waiting), 'connect_error')
  clients[0].disconnect()
  await waitFor(() => waiting.connected, { timeout: 15_000 })
})

test('polling sessions continue over new connections, and above the reserve connections are closed', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS: '4' })
  const session = await rawPolling(server.url)
  const { port } = new URL(server.url)
  const silent = range(20).map(() => connect(Number(port), '127.0.0.1').on('error', () => {}))
  t.after(() => {
    for (const socket of silent) socket.destroy()
  })
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  await waitFor(async () => {
    await server.metrics.collect()
    return (await server.metrics.sockets.get()).values[0].value >= 20
  })
  assert.equal(typeof (await session.connect()), 'string')
  assert.equal(await upgrade(server.url), 503)
  const more = range(30).map(() => connect(Number(port), '127.0.0.1').on('error', () => {}))
  t.after(() => {
    for (const socket of more) socket.destroy()
  })
  const closed = (/** @type {import('node:net').Socket[]} */ some) => some.filter((socket) => socket.closed).length
  // of at least 51, 28 may be open: the limit, and 24 that are only refused
  await waitFor(() => closed(silent) + closed(more) >= 23, {
    message: () => `${closed(silent)} and ${closed(more)} are closed`
  })
  // the oldest first, except those within the limit, beside the session
  assert.equal(closed(silent), 17)
  assert.ok((await refusals(server)).descriptors >= 23)
  for (const socket of [...silent, ...more]) socket.destroy()
  await waitFor(async () => (await upgrade(server.url)) === 101)
})

test('a user with too many connections gets an error with a retry delay', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS_PER_USER: '2', AUTH_JWT_SECRET: SECRET })
  const auth = { token: await signToken({ sub: 'ada' }) }
  const [first] = await Promise.all(range(2).map(() => connectClient(t, server.url, { auth })))
  const third = createClient(t, server.url, { auth })
  const [error] = await once(/** @type {any} */ (third), 'connect_error')
  assert.deepEqual(
    [error.message, error.data.code, error.data.retryable],
    ['too many connections', 'too_many_connections', true]
  )
  assert.ok(error.data.retryInMs >= 1000)
  assert.deepEqual(await refusals(server), { user: 1 })
  await connectClient(t, server.url, { auth: { token: await signToken({ sub: 'bob' }) } })
  first.disconnect()
  await waitFor(async () => {
    third.connect()
    await Promise.race([once(/** @type {any} */ (third), 'connect_error'), once(/** @type {any} */ (third), 'connect')])
    return third.connected
  })
})

test('an address with too many sessions gets no more, and headers of trusted proxies are used', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS_PER_ADDRESS: '3', TRUSTED_PROXIES: '127.0.0.0/8' })
  const from = (/** @type {string} */ address) => ({ extraHeaders: { 'X-Forwarded-For': address } })
  const clients = await Promise.all([
    ...range(2).map(() => connectClient(t, server.url, from('1.2.3.4'))),
    connectClient(t, server.url, { ...from('1.2.3.4'), transports: ['polling'] })
  ])
  const headers = 'X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n'
  assert.equal(await upgrade(server.url, headers), 503)
  assert.equal((await fetch(server.url + POLLING, { headers: { 'x-forwarded-for': '1.2.3.4' } })).status, 503)
  assert.equal(await upgrade(server.url, 'X-Forwarded-For: 1.2.3.5\r\n'), 101)
  assert.equal(await upgrade(server.url), 101)
  assert.deepEqual(await refusals(server), { address: 2 })
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
  for (const client of clients) client.disconnect()
  // Ended connections, and requests without a session, do not count.
  await waitFor(async () => await upgrade(server.url, headers) === 101)
  for (let i = 0; i < 10; i++) {
    assert.equal(
      (await fetch(`${server.url}/socket.io/?EIO=4&transport=none`, { headers: { 'x-forwarded-for': '1.2.3.4' } }))
        .status,
      400
    )
    assert.equal(await upgrade(server.url, headers, '/socket.io/?EIO=4&transport=none'), 400)
  }
  await waitFor(async () => await upgrade(server.url, headers) === 101)
})

test('the header of an untrusted proxy is ignored', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS_PER_ADDRESS: '2', TRUSTED_PROXIES: '192.0.2.1' })
  const open = await Promise.all(range(2).map(() => rawWebSocket(t, server.url)))
  assert.equal(await upgrade(server.url, 'X-Forwarded-For: 1.2.3.4\r\n'), 503)
  open[0].ws.close()
  await waitFor(async () => await upgrade(server.url) === 101)
})

test('clients with a private address count once there are trusted proxies; until then one warning says so', async (t) => {
  const { log, lines } = recordingLog()
  const server = await startEmbedded(t, { MAX_CONNECTIONS_PER_ADDRESS: '1' }, log)
  const told = () => lines.filter(({ text }) => text.includes('TRUSTED_PROXIES'))
  const options = { extraHeaders: { 'X-Forwarded-For': '1.2.3.4' } }
  await connectClient(t, server.url)
  assert.equal(told().length, 0)
  for (let i = 0; i < 3; i++) await connectClient(t, server.url, options)
  assert.deepEqual(told().map(({ level }) => level), ['warn'])
  assert.equal(server.gateway.connectionLimits.addresses, 0)
})

test('silent connections above the limit make room for clients, which get an answer', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS: '4' })
  const { port } = new URL(server.url)
  const silent = range(60).map(() => connect(Number(port), '127.0.0.1').on('error', () => {}))
  t.after(() => { for (const socket of silent) socket.destroy() })
  await waitFor(() => silent.filter(({ closed }) => closed).length >= 30, {
    message: () => `${silent.filter(({ closed }) => closed).length} are closed`
  })
  for (let i = 0; i < 5; i++) assert.equal(await upgrade(server.url), 503)
  const answer = await fetch(server.url + POLLING, { headers: { connection: 'close' } })
  assert.equal(answer.status, 503)
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  assert.equal((/** @type {any} */ (await answer.json())).code, 'too_many_connections')
})

test('TRUSTED_PROXIES takes the names that Express has for networks', async (t) => {
  const server = await startEmbedded(t, { MAX_CONNECTIONS_PER_ADDRESS: '1', TRUSTED_PROXIES: 'loopback,uniquelocal' })
  await connectClient(t, server.url, { extraHeaders: { 'X-Forwarded-For': '1.2.3.4, 10.1.2.3' } })
  assert.equal(await upgrade(server.url, 'X-Forwarded-For: 1.2.3.4\r\n'), 503)
  assert.equal(await upgrade(server.url, 'X-Forwarded-For: 1.2.3.5\r\n'), 101)
})

/**
 * Descriptors of the process under test. Earlier versions of Node.js read modules concurrently, and need more to start.
 */
const DESCRIPTORS = Number(process.versions.node.split('.')[0]) < 24 ? 240 : 120

test('when clients use up 120 file descriptors, the other ports and newcomers are still answered', async (t) => {
  const [port, api, admin] = await freePorts(3)
  const child = spawn('sh', ['-c', `ulimit -n ${DESCRIPTORS}; exec "$0" cluster.js`, process.execPath], {
    cwd: ROOT,
    env: {
      INKCAST_ENV_FILE: '', WORKERS: '1', LOG_LEVEL: 'warn',
      PORT: String(port), API_PORT: String(api), ADMIN_PORT: String(admin)
    },
    stdio: ['ignore', 'ignore', 'inherit']
  })
  t.after(() => { child.kill('SIGKILL') })
  const url = `http://127.0.0.1:${port}`
  await othersAnswer(api, admin)
  // as many real clients as the limit allows, and many more connections that are silent
  const clients = await Promise.all(range(connectionsFor(DESCRIPTORS)).map(() => connectClient(t, url)))
  const silent = range(300).map(() => connect(port, '127.0.0.1').on('error', () => {}))
  t.after(() => { for (const socket of silent) socket.destroy() })
  await waitFor(() => silent.filter(({ closed }) => closed).length >= 200, {
    message: () => `${silent.filter(({ closed }) => closed).length} were closed`
  })
  for (let i = 0; i < 3; i++) {
    await othersAnswer(api, admin)
    assert.equal(await upgrade(url), 503)
    const answer = await fetch(url + POLLING, { headers: { connection: 'close' } })
    assert.deepEqual([answer.status, Number(answer.headers.get('retry-after')) >= 1], [503, true])
    assert.equal((/** @type {any} */ (await answer.json())).code, 'too_many_connections')
  }
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
})

/**
 * Waits until the api and the admin port answer.
 * @param {number} api @param {number} admin ports
 */
async function othersAnswer (api, admin) {
  const ask = async (/** @type {string} */ url, options = {}) =>
    (await fetch(url, { ...options, signal: AbortSignal.timeout(20_000) })).status
  await waitFor(async () => await ask(`http://127.0.0.1:${admin}/ready`) === 200, { timeout: 20_000, message: 'readiness' })
  assert.equal(await ask(`http://127.0.0.1:${admin}/live`), 200)
  assert.equal(await ask(`http://127.0.0.1:${admin}/metrics`), 200)
  assert.equal(
    await ask(`http://127.0.0.1:${api}/v1/documents/doc/broadcast`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: '1'
    }),
    202
  )
}
