import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { reflectionEndpoints } from '../../../src/services/api/grpc/reflection.js'
import { startCertificate } from '../../helpers/certificates.js'
import { framed, METHODS, rawGrpc, startGrpcApi } from '../../helpers/grpc-api.js'
import { waitFor } from '../../helpers/wait.js'

const TOKEN = '0123456789abcdef'
const TOKENS = [`editor:${TOKEN}`, 'other:fedcba9876543210']
const MB = 2 ** 20
const fileOf = (/** @type {string} */ name) => fileURLToPath(new URL(`../../helpers/tls/${name}.pem`, import.meta.url))
const TLS = { cert: fileOf('cert'), key: fileOf('key') }
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const SETTINGS = Buffer.from('000000040000000000', 'hex')
const [[REFLECTION, endpoint]] = reflectionEndpoints([])
const reflection = /** @type {any} */ (endpoint.method)
const HEALTH = '/grpc.health.v1.Health/'
const { Position, PublishBatch, PublishStream, Broadcast } = METHODS
const position = () => framed(Position.requestSerialize({ guid: 'g' }))
const services = { bus: { positions: async () => [null] } }

/** @param {ReturnType<typeof rawGrpc>} client @param {Buffer} [bytes] */
async function ask (client, bytes = position()) {
  const { stream, ended } = client.call(Position.path)
  stream.resume()
  stream.end(bytes)
  return ended
}

test('without a token every rpc is refused before a byte of its message is read', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS })
  for (const path of [...Object.values(METHODS).map(({ path }) => path), REFLECTION, REFLECTION.replace('v1', 'v1alpha')]) {
    for (const headers of [{}, { authorization: 'Bearer wrong-wrong-wrong' }, { authorization: `Basic ${TOKEN}` }]) {
      const { stream, ended } = rawGrpc(t, port).call(path, headers)
      stream.resume()
      // the message never ends
      stream.write(framed(Buffer.alloc(100, 0xff), 4 * MB))
      const { status, code, reset } = await ended
      assert.deepEqual([status, code, reset], [16, 'unauthorized', 0], path)
    }
  }
})

test('refused calls leave a connection usable, whatever they have sent', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS, services })
  const client = rawGrpc(t, port)
  for (let i = 0; i < 50; i++) {
    const { stream, ended } = client.call(PublishBatch.path)
    stream.resume()
    stream.end(Buffer.alloc(64 * 1024))
    assert.equal((await ended).status, 16)
  }
  const { stream, ended } = client.call(Position.path, { authorization: `Bearer ${TOKEN}` })
  stream.resume()
  stream.end(position())
  assert.equal((await ended).status, 0)
})

/** Connections that are never answered. @type {Record<string, (Buffer | string)[]>} */
const SILENT = {
  nothing: [],
  'one byte': ['P'],
  'half a preface': [PREFACE.slice(0, 10)],
  'a preface': [PREFACE],
  'a preface and settings': [PREFACE, SETTINGS],
  'half a frame': [PREFACE, SETTINGS, Buffer.from('000100', 'hex')],
  'half the headers of a call': [PREFACE, SETTINGS, Buffer.from('000040010400000001828684', 'hex')],
  'headers that do not end': [PREFACE, SETTINGS, Buffer.from('000002010000000001 8286'.replace(' ', ''), 'hex')],
  'a ping': [PREFACE, SETTINGS, Buffer.from('0000080600000000000102030405060708', 'hex')]
}

for (const [kind, parts] of Object.entries(SILENT)) {
  test(`a connection without a call ends after 10 s: ${kind}`, async (t) => {
    const { port, pass } = await startGrpcApi(t)
    const socket = net.connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    for (const bytes of parts) socket.write(bytes)
    socket.resume()
    await pass(9000)
    const ended = once(socket, 'close')
    await pass(2000)
    await ended
  })
}

test('TLS connections end as well: without a byte, with half a ClientHello, and after the handshake', async (t) => {
  const { certificate } = await startCertificate(t, TLS)
  const { port } = await startGrpcApi(t, { certificate, times: { handshake: 300 } })
  for (const bytes of ['', '16', '1603010200010001fc0303']) {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(Buffer.from(bytes, 'hex'))
    socket.on('error', () => {})
    await once(socket.resume(), 'close')
  }
  const { port: patient, pass } = await startGrpcApi(t, { certificate })
  const plain = tls.connect({ port: patient, host: '127.0.0.1', rejectUnauthorized: false })
  plain.on('error', () => {})
  await once(plain.resume(), 'close') // without ALPN
  const socket = tls.connect({ port: patient, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  const ended = once(socket.resume(), 'close')
  await pass(11_000)
  await ended
})

test('silent connections lock no caller out: the oldest ones are closed', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS, services })
  const known = rawGrpc(t, port, { token: TOKEN })
  assert.equal((await ask(known)).status, 0)
  let open = 0
  for (let i = 0; i < 700; i++) {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${1 + i % 200}` })
    socket.on('error', () => {})
    socket.on('close', () => { open-- })
    t.after(() => socket.destroy())
    open++
    await once(socket.resume(), 'connect')
  }
  assert.equal((await ask(rawGrpc(t, port, { token: TOKEN }))).status, 0)
  assert.equal((await ask(known)).status, 0)
  await waitFor(() => open <= 500)
})

test('a connection whose calls have ended is closed after 65 s', async (t) => {
  const { port, pass } = await startGrpcApi(t, { services })
  const client = rawGrpc(t, port)
  assert.equal((await ask(client)).status, 0)
  await pass(60_000)
  assert.equal((await ask(client)).status, 0)
  await pass(64_000)
  assert.equal(client.session.destroyed, false)
  await pass(2000)
  await client.ended
})

test('an idle stream stays open while its client answers, and ends after 45 s of silence', async (t) => {
  const { port, pass } = await startGrpcApi(t)
  const client = rawGrpc(t, port)
  const { stream } = client.call(PublishStream.path)
  stream.write(framed(PublishStream.requestSerialize({ publications: [{ guid: 'g' }] })))
  await once(stream, 'data')
  for (let i = 0; i < 10; i++) await pass(20_000)
  assert.equal(stream.closed, false)
  // nothing is read: not even the pings
  const lost = net.connect(port, '127.0.0.1')
  lost.on('error', () => {})
  lost.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, headersOf(PublishStream.path, port)]))
  await once(lost, 'data')
  lost.pause()
  const ended = once(lost, 'close')
  await pass(50_000)
  lost.resume()
  await ended
})

test('a message that does not arrive ends its call after 30 s', async (t) => {
  const { port, pass } = await startGrpcApi(t)
  for (const [{ path }, bytes] of /** @type {const} */ ([
    [PublishBatch, framed(Buffer.alloc(10), 1000)], [Broadcast, Buffer.alloc(3)], [PublishStream, Buffer.alloc(1)],
    [Broadcast, Buffer.alloc(0)], [PublishStream, framed(Buffer.alloc(10), 1000)]
  ])) {
    const { stream, ended } = rawGrpc(t, port).call(path)
    stream.resume()
    stream.write(bytes)
    await pass(35_000)
    assert.deepEqual([(await ended).code, (await ended).message], ['bad_request', 'the message did not arrive in time'])
  }
})

test('bytes of messages that do not end are bounded for all connections together', async (t) => {
  const { port } = await startGrpcApi(t)
  const client = rawGrpc(t, port)
  for (const { path } of [PublishBatch, PublishStream]) {
    /** @type {string[]} */
    const codes = []
    const calls = Array.from({ length: 30 }, () => {
      const { stream, ended } = client.call(path)
      stream.resume()
      stream.write(framed(Buffer.alloc(4 * MB - 1000), 4 * MB))
      ended.then(({ code }) => codes.push(code))
      return stream
    })
    await waitFor(() => codes.length > 0)
    assert.deepEqual(new Set(codes), new Set(['unavailable']))
    // some of them hold what is allowed
    assert.ok(codes.length < 20)
    for (const stream of calls) stream.close(8)
  }
})

test('a message that is too large is refused by its length, compressed or not, with the code of the table', async (t) => {
  const { port } = await startGrpcApi(t)
  const client = rawGrpc(t, port)
  const bomb = framed(gzipSync(Buffer.alloc(64 * MB)))
  bomb[0] = 1
  for (const { path } of [Broadcast, PublishBatch, PublishStream]) {
    for (const [bytes, headers] of /** @type {const} */ ([
      [framed(Buffer.alloc(10), 6 * MB), {}], [bomb, { 'grpc-encoding': 'gzip' }]
    ])) {
      const { stream, ended } = client.call(path, headers)
      stream.resume()
      stream.write(bytes)
      const { status, code } = await ended
      assert.deepEqual([status, code], [8, 'value_too_large'])
    }
  }
  const { stream, ended } = client.call(Broadcast.path, { 'grpc-encoding': 'zstd' })
  stream.resume()
  stream.write(bomb)
  assert.equal((await ended).code, 'bad_request')
})

test('calls of the health that stay open take no place of a caller', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS, services })
  const watched = await Promise.all(Array.from({ length: 100 }, async () => {
    const client = rawGrpc(t, port)
    return Promise.all(Array.from({ length: 10 }, async () => {
      const { stream } = client.call(`${HEALTH}Watch`)
      stream.end(framed(Buffer.alloc(0)))
      await once(stream, 'data')
      stream.resume()
    }))
  }))
  assert.equal(watched.flat().length, 1000)
  const { status } = await ask(rawGrpc(t, port, { token: TOKEN }))
  assert.equal(status, 0)
})

test('a compressed message counts with the bytes that it has decompressed', async (t) => {
  /** Publications of a megabyte. */
  let held = 0
  const { port } = await startGrpcApi(t, {
    publishLane: () => {
      held++
      return new Promise(() => {})
    }
  })
  const value = Buffer.from(JSON.stringify('a'.repeat(MB - 10)))
  const publications = Array.from({ length: 4 }, (_, i) => ({ guid: `${i}`, value }))
  const bytes = framed(gzipSync(PublishBatch.requestSerialize({ publications })))
  bytes[0] = 1
  const client = rawGrpc(t, port)
  const refused = /** @type {string[]} */ ([])
  for (let i = 0; i < 40; i++) {
    const { stream, ended } = client.call(PublishBatch.path, { 'grpc-encoding': 'gzip' })
    stream.resume()
    stream.end(bytes)
    ended.then(({ code }) => refused.push(String(code)))
  }
  await waitFor(() => refused.length + held / 4 === 40, { message: () => [refused.length, held] })
  assert.ok(held <= 64, `${held} MB`)
  assert.deepEqual([...new Set(refused)], ['unavailable'])
})

test('a question about the services that is longer than a name is refused', async (t) => {
  const { port } = await startGrpcApi(t)
  const { stream, ended } = rawGrpc(t, port).call(REFLECTION)
  stream.resume()
  stream.write(framed(reflection.requestSerialize({ fileContainingSymbol: 'x'.repeat(100_000) })))
  assert.equal((await ended).code, 'value_too_large')
})

test('answers that nobody reads stop the questions, and end the call after 45 s', async (t) => {
  const { port, pass } = await startGrpcApi(t)
  for (const path of [REFLECTION, REFLECTION.replace('v1', 'v1alpha')]) {
    const { stream, ended } = rawGrpc(t, port, { settings: { initialWindowSize: 0 } }).call(path)
    const question = framed(reflection.requestSerialize({ fileContainingSymbol: 'inkcast.v1.Gateway' }))
    const many = Buffer.concat(Array.from({ length: 1000 }, () => question))
    for (let i = 0; i < 20; i++) stream.write(many)
    await pass(10_000)
    assert.ok(stream.writableLength > 0, 'the api reads on')
    await pass(40_000)
    assert.equal((await ended).reset, 8)
  }
})

test('an answer that nobody reads ends after 45 s, one that is read slowly does not', async (t) => {
  const { port, pass } = await startGrpcApi(t, {
    services: {
      sessions: { documents: async () => Array.from({ length: 1000 }, () => ({ guid: 'x'.repeat(200), members: 1 })) },
      bus: { positions: async () => [] }
    }
  })
  for (const reads of [false, true]) {
    const { stream, ended } = rawGrpc(t, port, { settings: { initialWindowSize: reads ? 65_536 : 0 } })
      .call(METHODS.Documents.path)
    stream.end(framed(METHODS.Documents.requestSerialize({})))
    if (!reads) {
      await pass(50_000)
      assert.equal((await ended).reset, 8)
      continue
    }
    for (let i = 0; i < 10; i++) {
      await pass(20_000)
      stream.read(32 * 1024)
    }
    stream.resume()
    assert.equal((await ended).status, 0)
  }
})

test('a caller that opens too many streams takes none from another caller', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS })
  const [first, second] = [rawGrpc(t, port, { token: TOKEN }), rawGrpc(t, port, { token: TOKEN })]
  for (let i = 0; i < 100; i++) (i % 2 ? first : second).call(PublishStream.path).stream.resume()
  const { stream, ended } = second.call(PublishStream.path)
  stream.resume()
  assert.deepEqual((await ended).code, 'unavailable')
  const other = rawGrpc(t, port, { token: 'fedcba9876543210' }).call(PublishStream.path).stream
  other.write(framed(PublishStream.requestSerialize({ publications: [{ guid: 'g' }] })))
  await once(other, 'data')
})

test('health needs no token, and has few calls for each connection', async (t) => {
  const { port } = await startGrpcApi(t, { tokens: TOKENS })
  const client = rawGrpc(t, port)
  /** @type {any[]} */
  const refused = []
  for (let i = 0; i < 12; i++) {
    const { stream, ended } = client.call(`${HEALTH}Watch`)
    stream.resume()
    stream.end(framed(Buffer.alloc(0)))
    ended.then(({ code }) => refused.push(code))
  }
  await waitFor(() => refused.length === 2)
  assert.deepEqual(refused, ['unavailable', 'unavailable'])
  const { stream, ended } = rawGrpc(t, port).call(`${HEALTH}Check`)
  stream.resume()
  stream.end(framed(Buffer.alloc(2000)))
  assert.equal((await ended).code, 'value_too_large')
})

/** Paths and content types that are no call. */
test('what is no call of gRPC is refused, and the listener lives', async (t) => {
  const { port } = await startGrpcApi(t, { services })
  const client = rawGrpc(t, port)
  let refused = 0
  for (const path of ['/', '//', '/http://[', '/x', '/inkcast.v1.Gateway/', `/${'x'.repeat(3000)}`, '/__proto__', '/%00']) {
    for (const method of ['GET', 'POST', 'PUT', 'OPTIONS']) {
      for (const type of ['application/grpc', 'text/plain', '']) {
        const { stream, ended } = client.call(path, { ':method': method, 'content-type': type })
        stream.resume()
        stream.end()
        const { status } = await ended
        assert.ok(type === 'application/grpc' ? status === 12 : Number.isNaN(status), `${method} ${path} ${type}`)
        refused++
      }
    }
  }
  assert.equal(refused, 96)
  assert.equal((await ask(client)).status, 0)
})

/** @param {string} path @param {number} port @returns {Buffer} a HEADERS frame, without a table or Huffman codes */
function headersOf (path, port) {
  const literal = (/** @type {string} */ name, /** @type {string} */ value) =>
    Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])
  const block = Buffer.concat([
    literal(':method', 'POST'), literal(':scheme', 'http'), literal(':path', path),
    literal(':authority', `127.0.0.1:${port}`), literal('content-type', 'application/grpc'), literal('te', 'trailers')
  ])
  const head = Buffer.from('000000010400000001', 'hex')
  head.writeUIntBE(block.length, 0, 3)
  return Buffer.concat([head, block])
}
