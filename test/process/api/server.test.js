import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { operations } from '../../../src/services/api/operations/index.js'
import { startApi } from '../../helpers/api.js'
import { startCertificate } from '../../helpers/certificates.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { waitFor } from '../../helpers/wait.js'

/** A promise that the test settles. */
function deferred () {
  let resolve = () => {}
  const promise = /** @type {Promise<void>} */ (new Promise((done) => { resolve = () => done(undefined) }))
  return { promise, resolve }
}

const post = (/** @type {string} */ rest) => `POST /v1/broadcast HTTP/1.1\r\nhost: localhost\r\n${rest}`
/** @param {string} answer bytes received on a connection @returns {{ status: number, body: any }} the first response */
function parse (answer) {
  const [head, body = ''] = answer.split('\r\n\r\n')
  return {
    status: Number(head.split(' ')[1]),
    body: JSON.parse(body.slice(0, Number(/content-length: (\d+)/i.exec(head)?.[1])))
  }
}

test('a wrong method is answered with those that the route has', async (t) => {
  const { call } = await startApi(t)
  const allowed = async (/** @type {string} */ method, /** @type {string} */ path) =>
    (await call(method, path)).headers.get('allow')
  assert.equal(await allowed('PATCH', '/v1/documents/minutes/revoke'), 'POST')
  assert.equal(await allowed('POST', '/v1/users/ada/connections'), 'DELETE')
  assert.equal(await allowed('DELETE', '/openapi.json'), 'GET')
  assert.equal(await allowed('GET', '/v1/documents/minutes/history'), null)
})

test('unknown paths, wrong methods and malformed URLs are answered in the same form as all errors', async (t) => {
  const { call, counted } = await startApi(t)
  for (const [method, path, status, code] of /** @type {[string, string, number, string][]} */ ([
    ['GET', '/', 404, 'not_found'],
    ['GET', '/v1/documents/minutes/broadcast', 405, 'method_not_allowed'],
    ['PUT', '/v1/broadcast', 405, 'method_not_allowed'],
    ['PROPFIND', '/v1/broadcast', 404, 'not_found'],
    ['POST', '/v1/documents/minutes/broadcast/', 404, 'not_found'],
    ['POST', '/v1/documents/%zz/broadcast', 400, 'bad_request'],
    ['POST', '/v1/documents/%ff/broadcast', 400, 'bad_request'],
    ['GET', '/%', 400, 'bad_request']
  ])) {
    const answer = await call(method, path)
    assert.deepEqual(
      [answer.status, answer.body.ok, answer.body.error.code, answer.body.error.retryable],
      [status, false, code, false],
      `${method} ${path}`
    )
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  }
  await waitFor(async () => (await counted())['unknown 404'] === 3 && (await counted())['unknown 400'] === 3, {
    message: 'all requests to be counted'
  })
})

test('input that is not HTTP is answered in the same form, and the connection is closed', async (t) => {
  const { url, counted } = await startApi(t)
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\nconnection: close\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: localhost\r\nx: ' + 'x'.repeat(20_000) + '\r\n\r\n',
    post('content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n')
  ]) {
    const answer = await rawHttp(url, bytes)
    const { status, body } = parse(answer)
    assert.deepEqual([status, body.error.code], [400, 'bad_request'], bytes.slice(0, 30))
  }
  await waitFor(async () => (await counted())['unknown 400'] === 4)
})

test('a body that is too large is refused with and without a length', async (t) => {
  const { url, published, counted } = await startApi(t, { maxRecordBytes: 1000 })
  const announced = await rawHttp(url, post(`connection: close\r\ncontent-length: 1001\r\n\r\n${'1'.repeat(1001)}`))
  assert.deepEqual(
    [parse(announced).status, parse(announced).body.error],
    [413, { code: 'value_too_large', message: 'the value has 1001 bytes, 1000 are allowed', retryable: false }]
  )
  const chunk = `100\r\n${'1'.repeat(256)}\r\n`
  const chunked = await rawHttp(url, post(`transfer-encoding: chunked\r\n\r\n${chunk.repeat(4)}0\r\n\r\n`))
  assert.deepEqual([parse(chunked).status, parse(chunked).body.error.code], [413, 'value_too_large'])
  assert.equal(published.length, 0)
  assert.match(
    await rawHttp(url, post(`connection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`)),
    /^HTTP\/1.1 202 /
  )
  assert.equal(published[0].value.length, 768)
  await waitFor(async () => (await counted())['sendToEveryone 413'] === 2)
})

test('a caller that sends much more than allowed still gets the response', async (t) => {
  // longer than the runner waits
  const { call, api } = await startApi(t, { maxRecordBytes: 1000, times: { stop: 3_600_000 } })
  const { status, body } = await call('POST', '/v1/broadcast', { body: JSON.stringify('x'.repeat(3_000_000)) })
  assert.deepEqual([status, body.error.code], [413, 'value_too_large'])
  // only waits for the rest of the body
  await api.stop()
})

test('a caller that disconnects during a body leaves nothing behind', async (t) => {
  const { url, published, lines, counted, api } = await startApi(t)
  const before = lines.length
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(post('content-type: application/json\r\ncontent-length: 500\r\n\r\n{"half'))
  await waitFor(() => api.inWork() === 1, { message: 'the request to be in progress' })
  socket.destroy()
  await waitFor(() => api.inWork() === 0, { message: 'the request to be over' })
  await waitFor(async () => (await counted())['sendToEveryone 499'] === 1)
  assert.equal(published.length, 0)
  assert.equal(lines.length, before)
})

test('a caller that disconnects during its publication still counts against the limit', async (t) => {
  const { promise, resolve } = deferred()
  const { url, published, api, counted } = await startApi(t, { sink: () => promise })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(post('content-length: 1\r\n\r\n1'))
  await waitFor(() => published.length === 1)
  socket.destroy()
  await waitFor(async () => (await counted())['sendToEveryone 499'] === 1)
  assert.equal(api.inWork(), 1)
  resolve()
  await waitFor(() => api.inWork() === 0)
})

test('requests of a caller above half of the limit get a retry delay, and those of others continue', async (t) => {
  const { promise, resolve } = deferred()
  // eight bodies of the maximum size may be in progress, four of one caller
  const { call, published, url, counted } = await startApi(t, {
    maxRecordBytes: 16 * 2 ** 20, sink: () => promise, tokens: ['editor:0123456789abcdef', 'billing:fedcba9876543210']
  })
  const [editor, billing] = ['0123456789abcdef', 'fedcba9876543210'].map((token) => ({ authorization: `Bearer ${token}` }))
  const agent = new Agent({ keepAlive: false })
  const begin = (/** @type {typeof editor} */ headers) => new Promise((done) => {
    request(`${url}/v1/broadcast`, { method: 'POST', headers: { 'transfer-encoding': 'chunked', ...headers }, agent },
      (response) => done(response.resume().statusCode)
    ).end('1')
  })
  const statuses = Array.from({ length: 4 }, () => begin(editor))
  await waitFor(() => published.length === 4)
  const { status, headers: answered, body } = await call('POST', '/v1/broadcast', { body: '1', headers: editor })
  assert.deepEqual(
    [status, answered.get('retry-after'), body.error.code, body.error.retryable],
    [503, '1', 'unavailable', true]
  )
  statuses.push(...Array.from({ length: 4 }, () => begin(billing)))
  await waitFor(() => published.length === 8)
  resolve()
  assert.deepEqual(await Promise.all(statuses), Array(8).fill(202))
  assert.equal((await call('POST', '/v1/broadcast', { body: '1', headers: editor })).status, 202)
  await waitFor(
    async () => (await counted())['sendToEveryone 503'] === 1 && (await counted())['sendToEveryone 202'] === 9
  )
})

test('an operation that takes too long is answered with timeout', async (t) => {
  const { promise, resolve } = deferred()
  const { call, api } = await startApi(t, { sink: () => promise, times: { operation: 50 } })
  const { status, body } = await call('POST', '/v1/broadcast', { body: '1' })
  assert.deepEqual([status, body.error.code, body.error.retryable], [504, 'timeout', true])
  assert.equal(api.inWork(), 1)
  resolve()
  await waitFor(() => api.inWork() === 0)
})

test('a request that does not arrive in time is answered and its connection closed', async (t) => {
  const { url, api } = await startApi(t, { times: { request: 100, check: 20 } })
  for (const bytes of [post('content-length: 5\r\n\r\n1'), post('x-slow')]) {
    const { status, body } = parse(await rawHttp(url, bytes))
    assert.deepEqual(
      [status, body.error],
      [400, { code: 'bad_request', message: 'the request did not arrive in time', retryable: false }]
    )
  }
  await waitFor(() => api.inWork() === 0)
})

test('stop closes idle connections, and finishes pending requests with "connection: close"', async (t) => {
  const { promise, resolve } = deferred()
  const { url, published, api, counted } = await startApi(t, { sink: () => promise })
  const answer = rawHttp(url, post('content-length: 1\r\n\r\n1'))
  const idle = rawHttp(url, 'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await waitFor(async () => published.length === 1 && (await counted())['openapi 200'] === 1)
  let stopped = false
  const stopping = api.stop().then(() => { stopped = true })
  assert.match(await idle, /^HTTP\/1.1 200 /)
  await assert.rejects(fetch(url))
  assert.equal(stopped, false)
  resolve()
  assert.match(await answer, /^HTTP\/1.1 202 [^]*connection: close/i)
  await stopping
})

test('a request on an open connection after the stop began is refused with `draining`', async (t) => {
  const { promise, resolve } = deferred()
  const { url, published, api } = await startApi(t, { sink: () => promise })
  const begun = deferred()
  // half a request before the stop begins, the rest afterwards
  const answer = rawHttp(
    url,
    'POST /v1/broadcast HTTP/1.1\r\nhost: localhost\r\n',
    begun.promise,
    'content-length: 1\r\n\r\n1'
  )
  const inWork = rawHttp(url, post('content-length: 1\r\n\r\n1'))
  await waitFor(() => published.length === 1)
  const stopping = api.stop()
  begun.resolve()
  const { status, body } = parse(await answer)
  assert.deepEqual([status, body.error.code, body.error.retryable], [503, 'draining', true])
  resolve()
  assert.equal(parse(await inWork).status, 202)
  await stopping
})

test('leave accepts no new connections, and answers one last request on each open one', async (t) => {
  const { url, published, api } = await startApi(t, { times: { leave: 300 } })
  const left = deferred()
  const request = post('content-length: 1\r\n\r\n1')
  const answer = rawHttp(url, request, waitFor(() => published.length === 1), left.promise, request)
  await waitFor(() => published.length === 1)
  const leaving = api.leave()
  await assert.rejects(fetch(url))
  left.resolve()
  const [first, second] = (await answer).split('HTTP/1.1 ').slice(1)
  assert.match(first, /^202 (?![^]*connection: close)/)
  assert.match(second, /^202 [^]*connection: close/)
  await leaving
  await api.stop()
})

test('stop ends after its timeout, regardless of pending requests', async (t) => {
  const { url, published, api } = await startApi(t, { sink: () => new Promise(() => {}), times: { stop: 50 } })
  const answer = rawHttp(url, post('content-length: 1\r\n\r\n1'))
  await waitFor(() => published.length === 1)
  await api.stop()
  assert.equal(await answer, '')
})

test('a second request on the same connection is served', async (t) => {
  const { url, published } = await startApi(t)
  const answer = await rawHttp(
    url,
    post('content-length: 1\r\n\r\n1') + post('connection: close\r\ncontent-length: 1\r\n\r\n2')
  )
  assert.equal(answer.match(/HTTP\/1.1 202 /g)?.length, 2)
  assert.deepEqual(published.map(({ value }) => value.toString()), ['1', '2'])
})

test('with a certificate the api speaks TLS', async (t) => {
  const folder = new URL('../../helpers/tls/', import.meta.url)
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => fileURLToPath(new URL(name, folder)))
  const { certificate } = await startCertificate(t, { cert, key })
  const { url } = await startApi(t, { certificate })
  const status = await new Promise((resolve, reject) => {
    httpsRequest(`${url}/v1/documents/minutes/position`, { ca: readFileSync(cert), agent: false }, (response) =>
      resolve(response.resume().statusCode)
    )
      .on('error', reject)
      .end()
  })
  assert.equal(status, 200)
})

test('a port in use fails the start', async (t) => {
  const { api } = await startApi(t)
  await assert.rejects(startApi(t, { port: api.port() }), { code: 'EADDRINUSE' })
})

test('requests are counted by operation and status, and not logged', async (t) => {
  const { call, counted, lines } = await startApi(t)
  const before = lines.length
  await call('POST', '/v1/documents/minutes/broadcast', { body: '1' })
  await call('POST', '/v1/documents/minutes/broadcast', { body: '{' })
  await call('GET', '/v1/documents/minutes/position')
  await waitFor(async () => Object.keys(await counted()).length === 3)
  assert.deepEqual(await counted(), { 'broadcast 202': 1, 'broadcast 400': 1, 'position 200': 1 })
  assert.equal(lines.length, before)
})

test('failures of every operation are counted from 0, so that an alert sees the first one', async (t) => {
  const { metrics } = await startApi(t)
  const { values } = await metrics.api_requests.get()
  const begun = new Set(values.map(({ labels, value }) => `${labels.operation} ${labels.status} ${value}`))
  for (const { operation } of operations)
    for (const status of [500, 503, 504]) assert.ok(begun.has(`${operation} ${status} 0`), `${operation} ${status}`)
})
