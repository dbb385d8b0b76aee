import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { Line, upgradeRequest } from '../../attack/wire.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { Deadlines } from '../../../src/transport/engine/deadlines.js'
import { EngineSocket } from '../../../src/transport/engine/engine-socket.js'

const server = await startEmbedded({ after })
const { url, gateway } = server
const REQUEST = [
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  '',
  ''
].join('\r\n')
const MASK = Buffer.from([1, 2, 3, 4])

/** @param {number} first @param {string | Buffer} payload shorter than 126 bytes @returns {Buffer} */
const frame = (first, payload) =>
  Buffer.concat([
    Buffer.from([first, 0x80 | Buffer.byteLength(payload)]),
    MASK,
    Buffer.from(payload).map((byte, i) => byte ^ MASK[i & 3])
  ])

/** @returns {any} Engine.IO's socket of the newest WebSocket client */
const latest = () => gateway.engine.sessions().at(-1)

/**
 * @param {import('node:test').TestContext} t
 * @param {...(string | Buffer)} parts each is sent after the previous one has arrived
 */
async function dial (t, ...parts) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay()
  t.after(() => socket.destroy())
  const client = { socket, bytes: Buffer.alloc(0), ended: false }
  socket.on('data', (chunk) => { client.bytes = Buffer.concat([client.bytes, chunk]) })
    .on('error', () => {})
    .on('close', () => { client.ended = true })
  await once(socket, 'connect')
  for (const part of parts) {
    socket.write(part)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return client
}

describe('a client that starts with a WebSocket', () => {
  test('has a session of the gateway', async (t) => {
    await connectClient(t, url, { transports: ['websocket'] })
    assert.ok(latest() instanceof EngineSocket)
  })

  test('has one as well when its request arrives in pieces, or after another one', async (t) => {
    for (const parts of [
      [REQUEST.slice(0, 1), REQUEST.slice(1, 30), REQUEST.slice(30)],
      ['GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n', REQUEST]
    ]) {
      const client = await dial(t, ...parts)
      await waitFor(() => client.bytes.includes('0{"sid"'), { message: () => client.bytes.toString('latin1') })
      assert.ok(latest() instanceof EngineSocket)
      client.socket.write(frame(0x81, '40'))
      await waitFor(() => client.bytes.includes('40{"sid"'), { message: () => client.bytes.toString('latin1') })
    }
  })

  test('may send its next packet before the response', async (t) => {
    const client = await dial(t, Buffer.concat([Buffer.from(REQUEST), frame(0x81, '40')]))
    await waitFor(() => client.bytes.includes('40{"sid"'), { message: () => client.bytes.toString('latin1') })
  })

  test('gets the first of its offered protocols, and the response to its key', async (t) => {
    const client = await dial(t, REQUEST.replace('Host: x', 'Host: x\r\nSec-WebSocket-Protocol: one, two'))
    await waitFor(() => client.bytes.includes('0{'), { message: () => client.bytes.toString('latin1') })
    assert.match(
      client.bytes.toString('latin1'),
      /^HTTP\/1\.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\nSec-WebSocket-Protocol: one\r\n\r\n/
    )
  })

  test('ends with the engine, and is removed', async (t) => {
    const { url, gateway: { engine } } = await startEmbedded(t)
    const ws = await rawWebSocket(t, url)
    await ws.connect()
    assert.equal(engine.sessions().length, 1)
    engine.close()
    assert.deepEqual([engine.sessions().length, engine.clientsCount], [0, 0])
    await waitFor(() => ws.ws.readyState === ws.ws.CLOSED, { message: () => ws.ws.readyState })
  })
})

describe('an extension', () => {
  /** @param {string} url @param {string} [query] of a poll; default: begins a session */
  const poll = (url, query = '') => fetch(`${url}/socket.io/?EIO=4&transport=polling${query}`)

  /**
   * @param {import('node:test').TestContext} t @param {string} url @param {string} [query]
   * @returns {Promise<string>} the answer to a request to upgrade
   */
  async function upgrade (t, url, query = '') {
    const line = new Line({ port: Number(new URL(url).port) })
    t.after(() => line.close())
    await line.write(upgradeRequest({ query: `&transport=websocket${query}` }))
    await waitFor(() => line.tail.includes('\r\n\r\n'), { message: () => line.tail })
    return line.tail
  }

  test('adds headers to the responses of new sessions, and of all', async (t) => {
    const { url, gateway: { engine } } = await startEmbedded(t)
    engine.on('initial_headers', (headers) => { headers['x-first'] = 'yes' })
    engine.on('headers', (headers) => { headers['set-cookie'] = ['a=1', 'b=2'] })
    const first = await poll(url)
    const { sid } = JSON.parse((await first.text()).slice(1))
    assert.deepEqual([first.headers.get('x-first'), first.headers.getSetCookie()], ['yes', ['a=1', 'b=2']])
    const next = fetch(`${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`, { method: 'POST', body: '40' })
    assert.deepEqual([(await next).headers.get('x-first'), (await next).headers.getSetCookie()], [null, ['a=1', 'b=2']])
    assert.match(await upgrade(t, url), /^HTTP\/1\.1 101 .*x-first: yes\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n/s)
    assert.match(await upgrade(t, url, `&sid=${sid}`), /^HTTP\/1\.1 101 (?!.*x-first).*set-cookie: a=1\r\n/s)
    assert.ok(engine.sessions().every((session) => session instanceof EngineSocket))
  })

  test('leaves out headers that are not valid, and reports them', async (t) => {
    const { url, gateway: { engine } } = await startEmbedded(t)
    /** @type {unknown[]} */
    const reported = []
    engine.on('connection_error', ({ context }) => { reported.push(context) })
    engine.on('headers', (headers) => {
      Object.assign(headers, { 'x-lines': 'a\r\nb', 'not a name': 'a', 'x-none': undefined, 'x-good': 'yes' })
    })
    const { headers } = await poll(url)
    assert.deepEqual([headers.get('x-good'), headers.get('x-lines')], ['yes', null])
    assert.match(await upgrade(t, url), /^HTTP\/1\.1 101 (?!.*(x-lines|not a name|x-none)).*x-good: yes\r\n/s)
    const names = ['x-lines', 'not a name', 'x-none']
    assert.deepEqual(reported, [...names, ...names].map((header) => ({ name: 'INVALID_HEADER', header })))
  })

  test('reads requests in a middleware, which may set headers and refuse', async (t) => {
    const { url, gateway: { engine } } = await startEmbedded(t)
    engine.use((/** @type {any} */ req, /** @type {any} */ res, /** @type {Function} */ next) => {
      res.setHeader('x-seen', req.method)
      if (req._query.refuse) return res.writeHead(401).end()
      if (req._query.fail) return next(new Error('no'))
      next()
    })
    assert.equal((await poll(url)).headers.get('x-seen'), 'GET')
    assert.equal((await poll(url, '&refuse=1')).status, 401)
    assert.equal((await poll(url, '&fail=1')).status, 400)
    assert.match(await upgrade(t, url), /^HTTP\/1\.1 101 .*x-seen: GET\r\n/s)
    assert.match(await upgrade(t, url, '&refuse=1'), /^HTTP\/1\.1 401 /)
    assert.match(await upgrade(t, url, '&fail=1'), /^HTTP\/1\.1 400 .*"code":3/s)
    assert.equal(engine.clientsCount, 2)
  })

  test('a reset while one works ends only its own connection', async (t) => {
    const { url, gateway: { engine, httpServer } } = await startEmbedded(t)
    let works = false
    engine.use(() => { works = true })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(REQUEST)
    await waitFor(() => works)
    socket.resetAndDestroy()
    const open = () => new Promise((resolve) => httpServer.getConnections((_, count) => resolve(count)))
    await waitFor(async () => await open() === 0, { message: open })
  })
})

describe('input of a client', () => {
  for (const [what, bytes, code, reason] of /** @type {const} */ ([
    ['frames that are not masked', Buffer.from([0x81, 1, 0x32]), 1002, 'a frame is not masked'],
    ['text that is not UTF-8', frame(0x81, Buffer.from([0x34, 0xff])), 1007, 'text is not valid UTF-8'],
    [
      'more than the limit before admission',
      Buffer.concat([Buffer.from([0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]), MASK]),
      1009,
      'message is larger than 65536 bytes'
    ]
  ])) {
    test(`${what}: its WebSocket is closed with ${code} and a reason`, async (t) => {
      const client = await dial(t, REQUEST)
      await waitFor(() => client.bytes.includes('0{"sid"'), { message: () => client.bytes.toString('latin1') })
      const session = latest()
      client.socket.write(bytes)
      await waitFor(() => client.ended)
      const close = Buffer.concat([Buffer.from([0x88, 2 + reason.length, code >> 8, code & 255]), Buffer.from(reason)])
      assert.deepEqual(client.bytes.subarray(-close.length), close)
      assert.equal(session.readyState, 'closed')
      assert.equal(gateway.engine.sessionOf(session.id), undefined)
    })
  }

  test('a ping is answered with its payload, a pong is not answered', async (t) => {
    const client = await dial(t, REQUEST, frame(0x8a, 'pong'), frame(0x89, 'ping'))
    const answerTo = (/** @type {string} */ payload) => Buffer.from([0x8a, 4, ...Buffer.from(payload)])
    await waitFor(() => client.bytes.includes(answerTo('ping')))
    assert.ok(!client.bytes.includes(answerTo('pong')))
  })

  test('a close frame is answered with its code, and the connection ended', async (t) => {
    const client = await dial(t, REQUEST, frame(0x88, Buffer.from([3, 233])))
    await waitFor(() => client.ended)
    assert.deepEqual([...client.bytes.subarray(-4)], [0x88, 2, 3, 233])
  })

  test('Engine.IO packets that only a server may send end the session', async (t) => {
    for (const packet of ['2', '7']) {
      const client = await dial(t, REQUEST, frame(0x81, packet))
      await waitFor(() => client.ended)
    }
  })

  test('a disconnect packet together with the end counts as a disconnect', async (t) => {
    const client = await dial(t, REQUEST, frame(0x81, '40'))
    await waitFor(() => client.bytes.includes('40{"sid"'))
    const [socket] = [...gateway.io.sockets.sockets.values()].slice(-1)
    const reason = new Promise((resolve) => socket.once('disconnect', resolve))
    client.socket.end(Buffer.concat([frame(0x81, '41'), frame(0x88, '')]))
    assert.equal(await reason, 'client namespace disconnect')
  })
})

test('Node handles everything else: bad requests, other paths, connections that end without a byte', async (t) => {
  assert.match(await rawHttp(url, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
  assert.match(await rawHttp(url, REQUEST.replace('/socket.io/', '/elsewhere/')), /^HTTP\/1\.1 404 /)
  const silent = await dial(t)
  silent.socket.end()
  await waitFor(() => silent.ended)
  const resetting = await dial(t)
  resetting.socket.resetAndDestroy()
  assert.equal((await fetch(`${url}/socket.io/?EIO=4&transport=polling`)).status, 200)
})

test('a connection that ends without a byte is released', async (t) => {
  const { mock } = t.mock.method(Deadlines.prototype, 'delete')
  const silent = await dial(t)
  await new Promise((resolve) => gateway.httpServer.getConnections(resolve))
  silent.socket.resetAndDestroy()
  await waitFor(() => mock.calls.some(({ result }) => result === true), { message: () => mock.callCount() })
})

test('silent connections do not keep a gateway from stopping', async (t) => {
  // or a stop would wait for ever for what is closed after a time
  const { clock } = holdTime(t)
  const stopping = await startEmbedded(t, {}, undefined, { clock })
  const socket = connect(Number(new URL(stopping.url).port), '127.0.0.1').on('error', () => {})
  const accepted = () =>
    new Promise((resolve) => stopping.gateway.httpServer.getConnections((_, count) => resolve(count === 1)))
  await waitFor(accepted)
  const closed = once(socket, 'close')
  await stopping.stop()
  await closed
})
