import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busSink, createPublish } from '../../../src/services/api/publish.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'
import { startApi } from '../../helpers/api.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { publicationWith } from '../../helpers/publication.js'

const JSON_VALUE = '{ "text": "gr\\u00fc\u00dfe",\n "big": 12345678901234567890 }'

for (const [method, path, target] of /** @type {[string, string, object][]} */ ([
  ['POST', '/v1/documents/minutes/broadcast', { operator: 'broadcast', guid: 'minutes' }],
  ['POST', '/v1/users/ada/send', { operator: 'user', uid: 'ada' }],
  ['POST', '/v1/sockets/0123456789abcdefghij/send', { operator: 'socket', sid: '0123456789abcdefghij' }],
  ['POST', '/v1/broadcast', { operator: 'everyone' }],
  ['DELETE', '/v1/users/ada/connections', { operator: 'kick', uid: 'ada' }],
  ['DELETE', '/v1/sockets/0123456789abcdefghij', { operator: 'kick', sid: '0123456789abcdefghij' }]
])) {
  test(`${method} ${path} publishes to ${JSON.stringify(target)}`, async (t) => {
    const { call, published, clock } = await startApi(t)
    const { status, body } = await call(method, path, method === 'POST' ? { body: JSON_VALUE } : {})
    assert.equal(status, 202)
    assert.deepEqual(body, { ok: true, traceId: published[0].traceId })
    const { value, ...publication } = published[0]
    assert.deepEqual(withoutUndefined(publication), {
      ...target, event: 'message', except: [], ephemeral: false, receipt: false, traceId: body.traceId,
      timestamp: clock.now(), source: 'local', contentType: 'application/json'
    })
    assert.equal(value.toString(), method === 'POST' ? JSON_VALUE : '')
  })
}

test('headers have the same names and meaning as on a record', async (t) => {
  const { call, published } = await startApi(t)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const { status, headers } = await call('POST', '/v1/documents/minutes/broadcast', {
    body: encodeMsgpack({ binary: Buffer.from([0, 255]) }),
    headers: {
      'content-type': 'application/msgpack',
      'x-event': 'edit',
      'x-except': 'tab-1, tab-2',
      'x-ephemeral': 'true',
      'x-receipt': 'true',
      'x-trace-id': 'trace-1',
      traceparent,
      'x-timestamp': '1700000000123'
    }
  })
  assert.equal(status, 202)
  assert.equal(headers.get('x-trace-id'), 'trace-1')
  const { value, ...publication } = published[0]
  assert.deepEqual(withoutUndefined(publication), {
    operator: 'broadcast', guid: 'minutes', event: 'edit', except: ['tab-1', 'tab-2'], ephemeral: true, receipt: true,
    traceId: 'trace-1', traceparent, timestamp: 1700000000123, source: 'local', contentType: 'application/msgpack'
  })
  assert.deepEqual(value, encodeMsgpack({ binary: Buffer.from([0, 255]) }))
})

test('the response has the position if it is known', async (t) => {
  const { call } = await startApi(t, { sink: async () => ({ epoch: 'e', offset: 7 }) })
  const { body } = await call('POST', '/v1/documents/minutes/broadcast', {
    body: '1',
    headers: { 'x-trace-id': 'trace-1' }
  })
  assert.deepEqual(body, { ok: true, traceId: 'trace-1', position: { epoch: 'e', offset: 7 } })
})

test('the source is the name of the token, regardless of the request', async (t) => {
  const { call, published } = await startApi(t, { tokens: ['editor:0123456789abcdef'] })
  await call('POST', '/v1/broadcast', {
    body: '1',
    headers: { authorization: 'Bearer 0123456789abcdef', 'x-source': 'billing' }
  })
  assert.equal(published[0].source, 'editor')
})

test('a header that contradicts the path is refused, but one that repeats it is accepted', async (t) => {
  const { call, published } = await startApi(t)
  for (const [name, value] of [['x-operator', 'everyone'], ['x-guid', 'other'], ['x-uid', 'ada'], ['x-sid', 'abc']]) {
    const { status, body } = await call('POST', '/v1/documents/minutes/broadcast', {
      body: '1',
      headers: { [name]: value }
    })
    assert.deepEqual(
      [status, body.error],
      [400, { code: 'bad_header', message: `${name} contradicts the path`, retryable: false }]
    )
  }
  assert.equal(published.length, 0)
  assert.equal(
    (
      await call('POST', '/v1/documents/minutes/broadcast', {
        body: '1',
        headers: { 'x-operator': 'broadcast', 'x-guid': 'minutes' }
      })
    ).status,
    202
  )
})

test('ids in the path may contain any character of an id, up to 256 bytes', async (t) => {
  const { call, published } = await startApi(t)
  for (const guid of [
    'a/b',
    'a%2Fb',
    'a b',
    'ü',
    '文書',
    '🖋',
    '?#&=;',
    '..',
    '.',
    '*',
    ':guid',
    'constructor',
    '__proto__',
    'x'.repeat(256),
    'ü'.repeat(128)
  ]) {
    const { status } = await call(
      'POST',
      `/v1/documents/${encodeURIComponent(guid).replaceAll('.', '%2E')}/broadcast`,
      { body: '1' }
    )
    // a URL library resolves %2E%2E before sending
    if (guid === '..' || guid === '.') continue
    assert.equal(status, 202, guid)
    assert.equal(published.at(-1)?.guid, guid)
  }
  for (const guid of ['', 'x'.repeat(257), 'ü'.repeat(129), 'x'.repeat(3000), 'a\nb', '\0']) {
    const { status, body } = await call('POST', `/v1/documents/${encodeURIComponent(guid)}/broadcast`, { body: '1' })
    assert.deepEqual([status, body.error.code], [400, 'bad_target'], guid)
  }
})

test('header values are UTF-8', async (t) => {
  const { url, published } = await startApi(t)
  const request = (/** @type {string} */ event) =>
    Buffer.concat([
      Buffer.from(
        'POST /v1/broadcast HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 1\r\nx-event: '
      ),
      Buffer.from(event, event === 'ü' ? 'utf8' : 'latin1'),
      Buffer.from('\r\n\r\n1')
    ])
  assert.match(await rawHttp(url, request('ü')), /^HTTP\/1.1 202 /)
  assert.equal(published[0].event, 'ü')
  assert.match(await rawHttp(url, request('é')), /^HTTP\/1.1 400 [^]*"bad_header","message":"x-event is not UTF-8"/)
})

for (const [
  code, status, body, headers
] of /** @type {[string, number, string | Uint8Array | undefined, Record<string, string>][]} */ ([
    ['bad_value', 400, '{', {}],
    ['bad_value', 400, '1,"x"', {}],
    ['bad_value', 400, undefined, {}],
    ['bad_value', 400, '['.repeat(300) + ']'.repeat(300), {}],
    ['bad_value', 400, '{}', { 'content-type': 'application/msgpack' }],
    ['bad_utf8', 400, Buffer.from([0x22, 0xff, 0x22]), {}],
    ['value_too_large', 413, JSON.stringify('x'.repeat(1000)), {}],
    ['bad_content_type', 415, '1', { 'content-type': 'text/plain' }],
    ['bad_content_type', 415, 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['bad_content_type', 415, '1', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
    ['reserved_event', 400, '1', { 'x-event': 'doc:join' }],
    ['reserved_event', 400, '1', { 'x-event': 'disconnect' }],
    ['bad_header', 400, '1', { 'x-ephemeral': 'yes' }],
    ['bad_header', 400, '1', { 'x-receipt': '1' }],
    ['bad_header', 400, '1', { 'x-timestamp': 'today' }],
    ['bad_header', 400, '1', { 'x-except': 'a,,b' }],
    ['bad_header', 400, '1', { 'x-event': 'x'.repeat(257) }]
  ])) {
  test(`a value ${String(body).slice(0, 20)} with ${JSON.stringify(headers).slice(0, 60)} is answered with ${code}, and nothing is ` +
    'published', async (t) => {
    const { call, published } = await startApi(t)
    const answer = await call('POST', '/v1/documents/minutes/broadcast', { body, headers })
    assert.equal(answer.status, status)
    assert.deepEqual(answer.body, { ok: false, error: { code, message: answer.body.error.message, retryable: false } })
    assert.equal(published.length, 0)
  })
}

test('a content type may have parameters and capitals, and a body without one is JSON', async (t) => {
  const { call, published } = await startApi(t)
  assert.equal(
    (await call('POST', '/v1/broadcast', { body: '1', headers: { 'content-type': 'Application/JSON; charset=utf-8' } }))
      .status,
    202
  )
  assert.equal((await call('POST', '/v1/broadcast', { body: Buffer.from('2') })).status, 202)
  assert.deepEqual(published.map(({ contentType }) => contentType), ['application/json', 'application/json'])
})

test('a kick may have a content type, because some HTTP libraries always send one', async (t) => {
  const { call } = await startApi(t)
  for (const type of ['application/x-www-form-urlencoded', 'application/json', 'text/plain']) {
    assert.equal((await call('DELETE', '/v1/sockets/s1', { headers: { 'content-type': type } })).status, 202)
    assert.equal(
      (await call('GET', '/v1/documents/minutes/position', { headers: { 'content-type': type } })).status,
      200
    )
  }
})

test('x-uid or the body names the user to revoke, and different values are refused', async (t) => {
  const { call, published } = await startApi(t)
  const revoke = (/** @type {string | undefined} */ body, /** @type {Record<string, string>} */ headers = {}) =>
    call('POST', '/v1/documents/minutes/revoke', { body, headers })
  for (const answer of [
    await revoke(undefined, { 'x-uid': 'ada' }),
    await revoke('{"uid":"ädä"}'),
    await revoke('{"uid":"ada"}', { 'x-uid': 'ada' })
  ])
    assert.equal(answer.status, 202)
  assert.deepEqual(
    published.map(({ operator, guid, uid }) => [operator, guid, uid]),
    [
      ['revoke', 'minutes', 'ada'],
      ['revoke', 'minutes', 'ädä'],
      ['revoke', 'minutes', 'ada']
    ]
  )
  for (const [code, answer] of /** @type {const} */ ([
    ['missing_target', await revoke(undefined)],
    ['bad_target', await revoke(undefined, { 'x-uid': 'x'.repeat(257) })],
    ['bad_request', await revoke('{"uid":"ada"}', { 'x-uid': 'bob' })],
    ['bad_request', await revoke('{"uid":7}')],
    ['bad_request', await revoke('{"uid":"ada","guid":"other"}')],
    ['bad_request', await revoke('null')],
    ['bad_request', await revoke('["ada"]')],
    ['bad_request', await revoke('{')]
  ])) assert.deepEqual([answer.status, answer.body.error.code], [400, code])
  assert.equal(published.length, 3)
})

test('errors of the sink are shown if they are in the table, and hidden if not', async (t) => {
  let thrown = /** @type {Error} */ (new InkcastError('unavailable', 'Kafka is unavailable'))
  const { call, lines } = await startApi(t, { sink: async () => { throw thrown } })
  const busy = await call('POST', '/v1/broadcast', { body: '1' })
  assert.deepEqual(
    [busy.status, busy.headers.get('retry-after'), busy.body.error],
    [503, '1', { code: 'unavailable', message: 'Kafka is unavailable', retryable: true }]
  )
  assert.equal(lines.filter(({ level }) => level === 'error').length, 0)
  thrown = new Error('ECONNREFUSED 10.0.0.7')
  const broken = await call('POST', '/v1/broadcast', { body: '"payload"', headers: { 'x-trace-id': 'trace-1' } })
  assert.deepEqual(
    [broken.status, broken.body.error],
    [500, { code: 'internal', message: 'internal error', retryable: true }]
  )
  assert.equal(broken.headers.get('x-trace-id'), 'trace-1')
  const [line] = lines.filter(({ level }) => level === 'error')
  assert.match(line.text, /trace-1.*/s)
  assert.match(line.text, /ECONNREFUSED/)
  assert.doesNotMatch(line.text, /payload/)
})

test('the bus sink publishes one entry and returns its position', async () => {
  /** @type {unknown[]} */
  const entries = []
  const publish = createPublish({
    requests: /** @type {any} */ ({}),
    limits: { maxRecordBytes: 100 },
    sink: busSink({
      publishChecked: async (list) => {
        entries.push(...list)
        return [{ position: entries.length === 1 ? { epoch: 'e', offset: 1 } : null, duplicate: false }]
      }
    })
  })
  const publication = publicationWith({ traceId: 't' })
  assert.deepEqual(await publish(publication), { traceId: 't', position: { epoch: 'e', offset: 1 } })
  assert.deepEqual(await publish(publication), { traceId: 't' })
  assert.deepEqual(entries, [{ publication }, { publication }])
  await assert.rejects(publish({ ...publication, value: Buffer.from('{') }), { code: 'bad_value' })
  assert.equal(entries.length, 2)
})

/** @param {object} object */
const withoutUndefined = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
