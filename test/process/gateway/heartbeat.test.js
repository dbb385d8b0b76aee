import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const MAX = 2500
const TIMEOUT = 2000
const SETTINGS = { HEARTBEAT_MIN: '1000', HEARTBEAT_MAX: String(MAX), HEARTBEAT_TIMEOUT: String(TIMEOUT) }
/** What a busy machine may add to a time, ms. */
const PATIENCE = 3000

const file = { after }
const server = await startEmbedded(file, { ...SETTINGS, AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true', HEARTBEAT_TIERS: 'editors:1000:1000:1000' })
const bus = watchBus(server)
const { url, gateway, metrics } = server

/** @param {'heartbeats' | 'expired_connections'} name @returns {Promise<number>} */
const count = async (name) => (await metrics[name].get()).values[0]?.value ?? 0

/**
 * @param {Awaited<ReturnType<typeof connectClient>>} client
 * @returns {number[]} filled with the times of the pings that it gets, ms
 */
function pingsOf (client) {
  const times = [performance.now()]
  client.io.on('ping', () => times.push(performance.now()))
  return times
}

/** @param {number[]} times @returns {number[]} */
const gaps = (times) => times.slice(1).map((time, i) => time - times[i])

/** @param {() => unknown} condition @param {number} begin ms @returns {Promise<number>} ms until it held */
async function timeUntil (condition, begin) {
  await waitFor(condition, { timeout: MAX + TIMEOUT + PATIENCE })
  return performance.now() - begin
}

describe('the heartbeat', { concurrency: true }, () => {
  for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
    test(`keeps a stock client over ${transports.join(' and then ')}, and grows`, async (t) => {
      const client = await connectClient(t, url, { transports })
      const pings = pingsOf(client)
      client.on('disconnect', (reason) => assert.fail(reason))
      await waitFor(() => pings.length > 6, { timeout: 6 * MAX + PATIENCE })
      client.off('disconnect')
      const intervals = gaps(pings)
      assert.ok(intervals[1] < 1500 && intervals[5] > 1800 && Math.max(...intervals) < MAX + 200, intervals.join())
      assert.equal(client.io.engine.transport.name, transports.at(-1))
    })
  }

  test('has no timer of Engine.IO beside it', async (t) => {
    const client = await connectClient(t, url)
    const conn = gateway.engine.sessionOf(/** @type {any} */ (client.io.engine).id)
    const pings = pingsOf(client)
    await waitFor(() => pings.length > 2)
    assert.deepEqual([conn.pingIntervalTimer ?? null, conn.pingTimeoutTimer ?? null], [null, null])
  })

  test('drops a WebSocket that does not answer, in time and with its descriptor', async (t) => {
    const client = await rawWebSocket(t, url)
    await client.connect()
    const begin = performance.now()
    const { sid, pingInterval, pingTimeout } = JSON.parse(client.received[0].slice(1).toString())
    assert.deepEqual([pingInterval, pingTimeout], [MAX, TIMEOUT])
    const { netSocket } = gateway.engine.sessionOf(sid)
    /** @type {string[]} */
    const reasons = []
    gateway.engine.sessionOf(sid).on('close', (/** @type {string} */ reason) => reasons.push(reason))
    const time = await timeUntil(() => reasons.length > 0, begin)
    assert.deepEqual(reasons, ['ping timeout'])
    assert.ok(time >= 1000 + TIMEOUT - 200 && time <= MAX + TIMEOUT, `${time} ms`)
    assert.ok(netSocket.destroyed)
    await client.closed
    assert.equal(client.received.filter((packet) => packet === '2').length, 1)
  })

  test('drops what never connected, over either transport', async (t) => {
    const before = await count('expired_connections')
    const client = await rawWebSocket(t, url)
    const { sid } = await rawPolling(url)
    // both are there: how long it took them is not the heartbeat's
    const begin = performance.now()
    const time = await timeUntil(() => !client.open && gateway.engine.sessionOf(sid) === undefined, begin)
    assert.ok(time <= MAX + TIMEOUT, `${time} ms`)
    assert.ok(await count('expired_connections') >= before + 2)
  })

  test('drops a polling client that goes away with its poll open, or between two', async () => {
    const [silent, polling] = [await rawPolling(url), await rawPolling(url)]
    await silent.connect()
    await polling.connect()
    const transports = [silent, polling].map(({ sid }) => gateway.engine.sessionOf(sid).transport)
    const begin = performance.now()
    assert.equal((await polling.poll()).text, '2')
    const time = await timeUntil(() => gateway.engine.sessionOf(silent.sid) === undefined && gateway.engine.sessionOf(polling.sid) === undefined, begin)
    assert.ok(time <= MAX + TIMEOUT, `${time} ms`)
    assert.deepEqual(transports.map(({ readyState }) => readyState), ['closed', 'closed'], 'no poll is waited for')
  })

  test('takes any packet for a sign of life', async (t) => {
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

  test('is that of the tier', async (t) => {
    const client = await rawWebSocket(t, url)
    await client.connect({ token: await signToken({ sub: 'ada', tier: 'editors' }) })
    const begin = performance.now()
    const time = await timeUntil(() => !client.open, begin)
    assert.ok(time <= 1000 + 1000 + 500, `${time} ms`)
  })

  test('without private hooks Engine.IO\'s own heartbeat goes on', async (t) => {
    const preload = fileURLToPath(new URL('../../helpers/broken-hook.js', import.meta.url))
    const child = spawn(process.execPath, ['--import', preload, 'cluster.js'], {
      cwd: fileURLToPath(new URL('../../../', import.meta.url)),
      env: { PORT: '0', API_PORT: '0', ADMIN_PORT: '0', ...SETTINGS },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk })
    const [, port] = /** @type {RegExpExecArray} */ (await waitFor(() => /demo +http:\/\/localhost:(\d+)/.exec(output), { timeout: 30_000, message: () => output }))
    const address = `http://127.0.0.1:${port}`
    assert.match(output, /self-test failed/)
    const silent = await rawWebSocket(t, address)
    const client = await connectClient(t, address)
    const pings = pingsOf(client)
    await waitFor(() => pings.length > 2, { timeout: 3 * MAX + PATIENCE })
    assert.ok(gaps(pings).every((gap) => gap > MAX - 300), JSON.stringify(gaps(pings)))
    assert.ok(client.connected)
    await waitFor(() => !silent.open, { timeout: MAX + TIMEOUT + PATIENCE })
    child.kill('SIGKILL')
    await once(child, 'close')
  })

  after(async () => nothingLeft(server, bus))
})
