import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, stillServed, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { createSessionIds, workerOfSid } from '../../../src/wire/session-id.js'

const file = { after }
const server = await startEmbedded(file)
const { url, gateway } = server
const bus = watchBus(server)
const witness = await connectClient(file, url)
const { port } = new URL(url)

/**
 * @param {string} request
 * @param {{ reset?: boolean }} [options] reset: directly after writing
 * @returns {Promise<string>} everything received until the connection was closed
 */
async function rawRequest (request, { reset = false } = {}) {
  const socket = connect(Number(port), '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk) => { answer += chunk }).on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(request)
  if (reset) socket.resetAndDestroy()
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

/** A polling session whose end takes less than 30 s. */
async function shortPolling () {
  const session = await rawPolling(url)
  gateway.engine.sessionOf(session.sid).polling.closeTimeout = 10
  return session
}

/** @param {string} path */
const upgradeRequest = (path) =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ` +
  `dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

describe('session ids', () => {
  test('name the worker, are never the connection id, and look alike', async () => {
    const { id, io: { engine } } = witness
    assert.match(id ?? '', /^[\w-]{20}$/)
    assert.match(/** @type {any} */ (engine).id, /^[\w-]{20}$/)
    assert.equal(workerOfSid(id ?? ''), 0)
    assert.notEqual(id?.slice(-9), /** @type {any} */ (engine).id.slice(-9))
  })

  test('without an owner are answered by Engine.IO at once, also with the number of another worker', async () => {
    for (const sid of [
      'AAAAAAAAAAAAAAAAAAAA',
      createSessionIds(17, { clock: systemClock, random: systemRandom })(),
      '__proto__',
      'constructor',
      'x'.repeat(5000),
      '%00',
      '%'
    ]) {
      const answer = await fetch(`${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`)
      assert.equal(answer.status, 400, sid)
      assert.deepEqual(await answer.json(), { code: 1, message: 'Session ID unknown' })
      assert.match(
        await rawRequest(upgradeRequest(`/socket.io/?EIO=4&transport=websocket&sid=${sid}`)),
        /^HTTP\/1.1 400 .*\{"code":1,"message":"Session ID unknown"\}$/s
      )
    }
    const post = await fetch(`${url}/socket.io/?EIO=4&transport=polling&sid=AAAAAAAAAAAAAAAAAAAA`, {
      method: 'POST',
      body: '40'
    })
    assert.equal(post.status, 400)
  })

  test('of a WebSocket cannot be taken over by an upgrade, nor by polling', async (t) => {
    const victim = await connectClient(t, url)
    const { id: sid } = /** @type {any} */ (victim.io.engine)
    assert.match(
      await rawRequest(upgradeRequest(`/socket.io/?EIO=4&transport=websocket&sid=${sid}`)),
      /^HTTP\/1.1 400 /
    )
    assert.equal((await fetch(`${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`)).status, 400)
    assert.equal(
      (await fetch(`${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`, { method: 'POST', body: '41' })).status,
      400
    )
    await stillServed(victim)
  })

  test('cannot be taken over by a second upgrade while one is in progress', async (t) => {
    const session = await rawPolling(url)
    await session.connect()
    const rightful = await rawWebSocket(t, url, `&transport=websocket&sid=${session.sid}`)
    rightful.send('2probe')
    await rightful.text(/^3probe$/)
    assert.match(
      await rawRequest(upgradeRequest(`/socket.io/?EIO=4&transport=websocket&sid=${session.sid}`)),
      /^HTTP\/1.1 400 /
    )
    rightful.send('5', '420["doc:leave",{"guid":"x"}]')
    await rightful.text(/^430\[\{"ok":false/)
    rightful.send('41')
    await waitFor(() => !rightful.open)
  })

  test('are kept through a normal upgrade', async (t) => {
    const client = createClient(t, url, { transports: ['polling', 'websocket'] })
    await client.next('connect')
    const { id } = client
    const { id: sid } = /** @type {any} */ (client.io.engine)
    await waitFor(() => client.io.engine.transport.name === 'websocket')
    await stillServed(client)
    assert.deepEqual([client.id, /** @type {any} */ (client.io.engine).id], [id, sid])
  })

  test('of an upgraded session are refused at once, with any transport', async (t) => {
    const client = createClient(t, url, { transports: ['polling', 'websocket'] })
    await waitFor(() => client.io.engine.transport?.name === 'websocket')
    const { id: sid } = /** @type {any} */ (client.io.engine)
    for (const transport of ['websocket', 'polling']) {
      for (const method of ['GET', 'POST', 'PUT']) {
        const signal = AbortSignal.timeout(30_000)
        const { status } = await fetch(`${url}/socket.io/?EIO=4&transport=${transport}&sid=${sid}`, {
          method,
          signal,
          ...(method === 'POST' ? { body: '40' } : {})
        })
        assert.equal(status, method === 'PUT' ? 405 : 400, `${method} ${transport}`)
      }
    }
    await stillServed(client)
  })
})

describe('malformed requests', () => {
  test('are refused', async () => {
    const status = async (/** @type {string} */ query, /** @type {RequestInit} */ init = {}) =>
      (await fetch(`${url}/socket.io/${query}`, init)).status
    assert.equal(await status('?EIO=3&transport=polling'), 400)
    assert.equal(await status('?transport=polling'), 400)
    assert.equal(await status('?EIO=4'), 400)
    assert.equal(await status('?EIO=4&transport=webtransport'), 400)
    assert.equal(await status('?EIO=4&transport=__proto__'), 400)
    assert.equal(await status('?EIO=4&transport=websocket'), 400)
    assert.equal(await status('?EIO=4&transport=polling', { method: 'POST', body: '40' }), 400)
    assert.equal(await status(''), 400)
    assert.equal(await status('?%'), 400)
    assert.match(await rawRequest(upgradeRequest('/socket.io/?EIO=3&transport=websocket')), /HTTP\/1.1 400 /)
    assert.match(await rawRequest(upgradeRequest('/socket.io/?EIO=4&transport=polling')), /HTTP\/1.1 400 /)
    assert.match(await rawRequest('nonsense\r\n\r\n'), /^HTTP\/1.1 400 /)
    assert.match(await rawRequest(upgradeRequest('/elsewhere')), /^HTTP\/1.1 404 /)
  })

  test('do no harm when their sender resets the connection at once', async () => {
    const begun = '/socket.io/?EIO=4&transport=websocket'
    for (const path of [
      '/elsewhere',
      begun,
      `${begun}&sid=AAAAAAAAAAAAAAAAAAAA`,
      '/socket.io/?EIO=3&transport=websocket'
    ]) {
      await Promise.all(
        Array.from({ length: 5 }, () => rawRequest(upgradeRequest(path) + 'x'.repeat(50_000), { reset: true }))
      )
    }
    await rawRequest('GET / HTTP/1.1\r\nhost: x\r\n\r\n', { reset: true })
    await rawRequest(
      `POST /socket.io/?EIO=4&transport=polling&sid=${(await shortPolling()).sid} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nxxx`,
      { reset: true }
    )
    await stillServed(witness)
  })

  test('that are too large are refused and leave the session unchanged', async () => {
    const session = await rawPolling(url)
    await session.connect()
    assert.equal((await session.post('x'.repeat(2 ** 20 + 20_000))).status, 413)
    await session.post('420["doc:leave",{"guid":"x"}]')
    assert.match((await session.poll()).text, /not_joined/)
    assert.ok(await session.leave())
  })

  test('that poll twice at once end the session', async () => {
    const session = await shortPolling()
    await session.connect()
    const answers = await Promise.all([session.poll(), session.poll()])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400])
  })

  test('a transport without an accepted connection is closed after a timeout', async (t) => {
    const { io } = gateway
    const { _connectTimeout: timeout } = /** @type {any} */ (io)
    assert.equal(timeout, 20_000)
    t.after(() => Object.assign(io, { _connectTimeout: timeout }))
    // a number by which the test knows its timers, and ends them
    const known = timeout + 1
    Object.assign(io, { _connectTimeout: known })
    const { setTimeout } = globalThis
    const timers = t.mock.method(globalThis, 'setTimeout', /** @type {any} */ (
      (/** @type {() => void} */ run, /** @type {number} */ ms, /** @type {unknown[]} */ ...args) =>
        setTimeout(ms === known ? () => {} : run, ms, ...args)))
    const silent = await rawWebSocket(t, url)
    const refused = await rawWebSocket(t, url)
    refused.send('40{"token":"x"}')
    await refused.text(/^44\{.*"unauthorized"/)
    for (const { arguments: [end, ms] } of timers.mock.calls) if (ms === known) end()
    await waitFor(() => !silent.open && !refused.open)
  })

  test('leave nothing behind', async () => {
    witness.disconnect()
    await nothingLeft(server, bus)
  })
})
