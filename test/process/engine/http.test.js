import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { once } from 'node:events'
import https from 'node:https'
import { connect } from 'node:net'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { io } from 'socket.io-client'
import { createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { Connection } from '../../../src/gateway/connection.js'

const TLS = fileURLToPath(new URL('../../helpers/tls/', import.meta.url))

const file = { after }
const development = await startEmbedded(file)
const production = await startEmbedded(file, {
  NODE_ENV: 'production', HOST: '127.0.0.1', AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: 'test:0123456789abcdef'
})

describe('requests outside Socket.IO', () => {
  test('serve the demo in development', async () => {
    const page = await fetch(`${development.url}/`)
    assert.deepEqual(
      [page.status, page.headers.get('content-type')?.slice(0, 9), page.headers.get('x-content-type-options')],
      [200, 'text/html', 'nosniff']
    )
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'.*frame-ancestors 'none'/)
    for (const [, path] of (await page.text()).matchAll(/(?:src|href)="(\/?[^":]+\.(?:js|css|svg))"/g))
      assert.equal((await fetch(new URL(path, development.url))).status, 200, path)
    const settings = /** @type {any} */ (await (await fetch(`${development.url}/settings.json`)).json())
    assert.match(settings.apiUrl, /^http:\/\/localhost:\d+$/)
    for (const path of [
      '/nothing',
      '/..%2f..%2fpackage.json',
      '/%00',
      '/%',
      '/client/../server.js',
      '/client/..%2fpackage.json',
      '/client/nothing.js',
      '/documents/',
      '/documents/%',
      '/documents/%00',
      '/documents.js',
      '/socket.iox'
    ]) {
      assert.equal((await fetch(development.url + path)).status, 404, path)
    }
  })

  test('are refused in production', async () => {
    for (const path of [
      '/',
      '/index.html',
      '/settings.json',
      '/documents/demo',
      '/client/index.js',
      '/client/connection/io.js',
      '/client/socket.io.esm.min.js',
      '/socket.io/socket.io.js',
      '/metrics'
    ]) {
      const { status, headers } = await fetch(production.url + path)
      assert.ok([400, 404].includes(status), `${path} ${status}`)
      assert.doesNotMatch(headers.get('content-type') ?? '', /html|javascript/)
    }
    assert.equal((await fetch(`${production.url}/`, { method: 'POST', body: 'x' })).status, 404)
  })
})

test('TLS is used if a certificate is set', async (t) => {
  const server = await startEmbedded(t, { TLS_FILES: `cert:${TLS}cert.pem,key:${TLS}key.pem` })
  const url = server.url.replace('http:', 'https:')
  const ca = readFileSync(`${TLS}cert.pem`)
  for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
    const client = io(url, /** @type {any} */ ({ transports, forceNew: true, reconnection: false, ca }))
    t.after(() => client.disconnect())
    const answer = await client.timeout(30_000).emitWithAck('doc:join', { guid: 'doc' })
    assert.equal(answer.ok, true, transports.join())
  }
  const status = await new Promise((resolve, reject) =>
    https
      .get(`${url}/`, { ca }, (res) => {
        res.resume()
        resolve(res.statusCode)
      })
      .on('error', reject)
  )
  assert.equal(status, 200)
  await assert.rejects(fetch(`${server.url}/`), 'no plain HTTP')
  await assert.rejects(
    startEmbedded(t, { TLS_FILES: `cert:${TLS}nothing.pem,key:${TLS}key.pem` }),
    /nothing\.pem/
  )
})

test('a stopping gateway notifies its clients, closes them, and accepts no others', async (t) => {
  const server = await startEmbedded(t)
  const clients = [
    createClient(t, server.url),
    createClient(t, server.url, { codec: 'msgpack' }),
    createClient(t, server.url, { transports: ['polling'] })
  ]
  await Promise.all(clients.map((client) => client.next('connect')))
  const between = await rawPolling(server.url)
  await between.connect()
  const { engine } = server.gateway
  await waitFor(() => engine.sessions().filter(({ transport }) => transport.writable).length === 3, {
    message: 'a pending poll'
  })
  const ends = Promise.all(clients.map((client) => client.next('disconnect')))
  const stopped = server.stop()
  await waitFor(() => (engine.sessionOf(between.sid)?.writeBuffer.length ?? 0) > 0)
  const polled = between.poll()
  await createClient(t, server.url).next('connect_error')
  assert.match((await polled).text, /^42\["gateway:draining",/)
  assert.deepEqual((await ends).slice(0, 2).map(([reason]) => reason), ['transport close', 'transport close'])
  for (const { received } of clients) {
    assert.equal(received.length, 1)
    const [{ event, payload }] = received
    assert.equal(event, 'gateway:draining')
    assert.ok(payload.reconnectInMs >= 0 && payload.reconnectInMs <= 1000)
  }
  await stopped
  assert.deepEqual([server.gateway.connections, engine.clientsCount, server.gateway.io.sockets.sockets.size], [0, 0, 0])
})

test('a stopping gateway that has no time answers a poll that came meanwhile, before it gives up', async (t) => {
  const server = await startEmbedded(t)
  const between = await rawPolling(server.url)
  await between.connect()
  const { port, pathname, search } = new URL(between.address)
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => { text += chunk })
  const closed = once(socket, 'close')
  socket.write('GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await waitFor(() => text.startsWith('HTTP/1.1 404'))
  const stopped = server.stop()
  await waitFor(() => (server.gateway.engine.sessionOf(between.sid)?.writeBuffer.length ?? 0) > 0)
  // in this phase of the event loop, timers come before what sockets have received
  await new Promise((resolve) => { setImmediate(resolve) })
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  // longer than it waits for such clients
  for (const end = performance.now() + 700; performance.now() < end;);
  await closed
  assert.match(text, /42\["gateway:draining",/)
  await stopped
})

test('a stopping gateway closes its connections in batches, all of them within half of DRAIN_TIMEOUT', async (t) => {
  for (const [timeout, parts] of [
    ['30000', 24],
    ['200', 2]
  ]) {
    const server = await startEmbedded(t, { DRAIN_TIMEOUT: String(timeout) })
    const clients = await Promise.all(Array.from({ length: 120 }, () => rawWebSocket(t, server.url)))
    await Promise.all(clients.map((client) => client.connect()))
    let closed = 0
    let seen = 0
    const { goAway } = Connection.prototype
    t.mock.method(
      Connection.prototype,
      'goAway',
      /** @this {Connection} */ function () {
        if (closed++ === 0)
          setImmediate(() => {
            seen++
            closed = 0
          })
        return goAway.call(this)
      }
    )
    await server.stop()
    await Promise.all(clients.map(({ closed }) => closed))
    // where time is over all others are closed at once
    if (timeout === '200') assert.ok(seen >= 1 && seen <= Number(parts), `${seen} parts`)
    else assert.equal(seen, parts, `DRAIN_TIMEOUT=${timeout}`)
    t.mock.restoreAll()
  }
})
