import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { isProven } from '../../../src/transport/peers/request-proof.js'
import { MisroutedRequests } from '../../../src/transport/peers/misrouted-requests.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { countedBy } from '../../helpers/counted.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const OWNER = 7
const newSid = createSessionIds(OWNER, { clock: systemClock, random: systemRandom })

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('../../../src/transport/peers/owner-routes.js').Route} Route */

/** For the end of a client whose owner has closed, ms. */
const LAST_WORDS = 50

/**
 * A worker's server that forwards everything.
 * @param {TestContext} t
 * @param {(workerNumber: number) => Promise<Route | undefined>} findRoute
 */
async function startWorker (t, findRoute) {
  const metrics = createMetrics({ processMetrics: false })
  const clock = manualClock()
  const misrouted = new MisroutedRequests({
    workerNumber: 1,
    findRoute,
    secret: () => 'secret',
    metrics,
    log: recordingLog().log,
    clock,
    lastWords: LAST_WORDS
  })
  const server = http.createServer()
  let open = 0
  /** @type {import('node:net').Socket | undefined} */
  let latest
  server.on('connection', (socket) => {
    latest = socket
    open++
    socket.on('close', () => { open-- })
  })
  let pending = 0
  const sidOf = (/** @type {http.IncomingMessage} */ req) =>
    new URLSearchParams(req.url?.split('?')[1]).get('sid') ?? ''
  server.on('request', (req, res) => {
    pending++
    misrouted.request(sidOf(req), req, res).then((passed) => {
      pending--
      if (!passed) res.writeHead(404).end('no owner')
    })
  })
  server.on('upgrade', (req, socket, head) =>
    misrouted.upgrade(sidOf(req), req, /** @type {import('net').Socket} */ (socket), head).then((passed) => {
      if (!passed) socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
    })
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    misrouted.stop()
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    port,
    clock,
    /** Open connections of clients. */
    open: () => open,
    /** Bytes received from the latest client. */
    bytesRead: () => latest?.bytesRead,
    /** Requests that are neither forwarded nor answered yet. */
    pending: () => pending,
    /** @param {RequestInit} [init] @returns {Promise<{ status: number, text: string }>} */
    async ask (init) {
      const answer = await fetch(`http://127.0.0.1:${port}/socket.io/?sid=${newSid()}`, init)
      return { status: answer.status, text: await answer.text() }
    },
    counted: () => countedBy(metrics.stray_requests)
  }
}

/**
 * An owner's private listener.
 * @param {TestContext} t
 * @param {http.RequestListener} answer
 * @param {boolean} [tcp]
 */
async function startOwner (t, answer, tcp = false) {
  const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-misrouted-'))
  const file = path.join(folder, 'owner.sock')
  const server = http.createServer(answer)
  if (tcp) server.listen(0, '127.0.0.1')
  else server.listen(file)
  await once(server, 'listening')
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  t.after(() => {
    stop()
    rmSync(folder, { recursive: true })
  })
  const listener = tcp
    ? { host: '127.0.0.1', port: /** @type {import('node:net').AddressInfo} */ (server.address()).port }
    : { path: file }
  return { server, route: /** @type {Route} */ ({ listener, handover: false }), stop }
}

/** @param {string} text @returns {http.RequestListener} responds with the text and the body */
const echo = (text) => (req, res) => {
  let body = ''
  req.on('data', (chunk) => { body += chunk }).on('end', () => res.end(text + body))
}

test('a request is forwarded to the owner of its session id, which is looked up once a second', async (t) => {
  const owner = await startOwner(t, echo('first '))
  /** @type {number[]} */
  const asked = []
  const worker = await startWorker(t, async (number) => {
    asked.push(number)
    return owner.route
  })
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await worker.ask({ method: 'POST', body: 'body' }), { status: 200, text: 'first body' })
  assert.deepEqual(asked, [OWNER])
  worker.clock.advance(1000)
  await worker.ask()
  assert.deepEqual(asked, [OWNER, OWNER])
  assert.deepEqual(await worker.counted(), { forwarded: 4 })
})

test('when the owner is unreachable it is looked up again at once, and the whole request goes to its successor', async (t) => {
  const old = await startOwner(t, echo('old '))
  const young = await startOwner(t, echo('young '))
  let route = old.route
  const worker = await startWorker(t, async () => route)
  assert.equal((await worker.ask()).text, 'old ')
  old.stop()
  route = young.route
  assert.deepEqual(await worker.ask({ method: 'POST', body: 'x'.repeat(300_000) }), {
    status: 200,
    text: `young ${'x'.repeat(300_000)}`
  })
  assert.deepEqual(await worker.counted(), { forwarded: 2 })
})

test('without a successor of a dead owner the session is unknown, and the request stays unchanged', async (t) => {
  const owner = await startOwner(t, echo(''))
  const worker = await startWorker(t, async () => owner.route)
  await worker.ask()
  owner.stop()
  assert.deepEqual(await worker.ask({ method: 'POST', body: 'body' }), { status: 404, text: 'no owner' })
  assert.deepEqual(await worker.counted(), { forwarded: 1, unknown: 1 })
})

test('a free worker number is not cached', async (t) => {
  const owner = await startOwner(t, echo('here '))
  /** @type {Route | undefined} */
  let route = undefined
  const worker = await startWorker(t, async () => route)
  assert.equal((await worker.ask()).status, 404)
  route = owner.route
  assert.equal((await worker.ask()).text, 'here ')
})

test('while owners cannot be looked up, requests are not forwarded, and counted as failed', async (t) => {
  const owner = await startOwner(t, echo('here '))
  let broken = true
  const worker = await startWorker(t, async () => {
    if (broken) throw new Error('Redis is unavailable')
    return owner.route
  })
  assert.equal((await worker.ask()).status, 404)
  broken = false
  assert.equal((await worker.ask()).text, 'here ')
  assert.deepEqual(await worker.counted(), { failed: 1, forwarded: 1 })
})

test('a known owner is tried while lookups fail or find none, until it refuses connections', async (t) => {
  const owner = await startOwner(t, echo('here '))
  /** @type {() => Promise<Route | undefined>} */
  let find = async () => owner.route
  const worker = await startWorker(t, () => find())
  await worker.ask()
  for (const lost of [() => Promise.reject(new Error('Redis is unavailable')), async () => undefined]) {
    find = lost
    for (let i = 0; i < 2; i++) {
      worker.clock.advance(1000)
      assert.equal((await worker.ask()).text, 'here ')
    }
  }
  owner.stop()
  worker.clock.advance(1000)
  assert.equal((await worker.ask()).status, 404)
  assert.deepEqual(await worker.counted(), { forwarded: 5, unknown: 1 })
})

test('after an owner dies during a request the session is unknown, with the response of Engine.IO', async (t) => {
  const owner = await startOwner(t, (req) => req.socket.destroy())
  const worker = await startWorker(t, async () => owner.route)
  assert.deepEqual(await worker.ask({ method: 'POST', body: 'body' }), {
    status: 400,
    text: '{"code":1,"message":"Session ID unknown"}'
  })
  assert.deepEqual(await worker.counted(), { failed: 1 })
})

test('only a request to another machine has a proof, and a client\'s header of that name is dropped', async (t) => {
  /** @type {http.IncomingMessage[]} */
  const seen = []
  for (const tcp of [false, true]) {
    const owner = await startOwner(
      t,
      (req, res) => {
        seen.push(req)
        res.end()
      },
      tcp
    )
    const worker = await startWorker(t, async () => owner.route)
    await worker.ask({ headers: { 'x-inkcast-hop': 'forged', te: 'trailers', 'x-other': 'kept' } })
    const req = seen[seen.length - 1]
    assert.equal(req.headers['x-other'], 'kept')
    assert.equal(req.headers.te, undefined)
    if (tcp) assert.equal(isProven(['secret'], req, worker.clock.now()), true)
    else assert.equal(req.headers['x-inkcast-hop'], undefined)
  }
})

test('a client that disconnects ends its request at the owner', async (t) => {
  let open = 0
  const owner = await startOwner(t, (_req, res) => {
    open++
    res.on('close', () => open--)
  })
  const worker = await startWorker(t, async () => owner.route)
  const given = new AbortController()
  worker.ask({ signal: given.signal }).catch(() => {})
  await waitFor(() => open === 1, { message: 'the request at the owner' })
  given.abort()
  await waitFor(() => open === 0, { message: 'its end' })
})

test('an upgrade is handed over with the bytes that arrived with it and while its owner was looked up', async (t) => {
  /** @type {any[]} */
  const sent = []
  Object.assign(process, {
    connected: true,
    send: (
      /** @type {any} */ message,
      /** @type {any} */ _handle,
      /** @type {any} */ _options,
      /** @type {() => void} */ done
    ) => {
      sent.push(message)
      done()
    }
  })
  t.after(() => { Object.assign(process, { connected: false, send: undefined }) })
  /** @type {(route: Route) => void} */
  let found = () => {}
  const worker = await startWorker(t, () => new Promise((resolve) => { found = resolve }))
  const head = `GET /socket.io/?sid=${newSid()} HTTP/1.1\r\nHost: localhost\r\nX-Case: Kept\r\nConnection: Upgrade\r\nUpgrade: ` +
    `websocket\r\n\r\n`
  const client = connect(worker.port, '127.0.0.1')
  t.after(() => { client.destroy() })
  client.on('error', () => {})
  client.write(Buffer.concat([Buffer.from(head), Buffer.from([1, 2, 3])]))
  for (let piece = 4; piece < 8; piece++) {
    await delay(10)
    client.write(Buffer.from([piece]))
  }
  await waitFor(() => worker.bytesRead() === head.length + 7, { message: () => worker.bytesRead() })
  found({ handover: true, listener: { path: '/none' } })
  await waitFor(() => sent.length === 1, { message: 'the handover' })
  assert.equal(sent[0].to, OWNER)
  const bytes = Buffer.from(sent[0].bytes, 'base64')
  assert.equal(bytes.subarray(0, head.length).toString(), head)
  assert.deepEqual([...bytes.subarray(head.length)], [1, 2, 3, 4, 5, 6, 7])
  assert.deepEqual(await worker.counted(), { handed_over: 1 })
})

test('a client that disconnects during the lookup of its owner leaves nothing behind, neither here nor at the owner', async (t) => {
  let asked = 0
  const { route } = await startOwner(t, () => { asked++ })
  /** @type {((route: Route) => void)[]} */
  const lookups = []
  const worker = await startWorker(t, () => new Promise((resolve) => { lookups.push(resolve) }))
  const ask = new AbortController()
  const answer = worker.ask({ signal: ask.signal })
  await waitFor(() => lookups.length === 1, { message: 'the lookup' })
  ask.abort()
  await assert.rejects(answer, { name: 'AbortError' })
  await waitFor(() => worker.open() === 0, { message: () => `${worker.open()} connections to end` })
  lookups[0](route)
  await waitFor(() => worker.pending() === 0, { message: 'the request to end' })
  assert.equal(asked, 0)
})

test('a connection with its client\'s side open is closed after the owner has closed', async (t) => {
  const owner = await startOwner(t, echo(''))
  owner.server.on('upgrade', (_req, socket) => {
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    socket.destroy()
  })
  const worker = await startWorker(t, async () => owner.route)
  const client = connect({ port: worker.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => client.destroy())
  client.write(
    `GET /socket.io/?sid=${newSid()} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`
  )
  client.resume()
  await once(client, 'end')
  assert.equal(worker.open(), 1)
  worker.clock.advance(LAST_WORDS)
  await waitFor(() => worker.open() === 0, { message: 'the connection to be closed' })
})
