import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Callers } from '../../../src/services/api/callers/callers.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { startApi } from '../../helpers/api.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { recordingLog } from '../../helpers/recording-log.js'

const TOKENS = ['editor:0123456789abcdef', 'billing:fedcba9876543210:with-colon', 'editor:the-next-token-0']

/** @param {string[]} tokens */
function callersOf (tokens) {
  const metrics = createMetrics({ processMetrics: false })
  const { log } = recordingLog()
  const callers = new Callers({
    settings: { tokens }, production: false, log, metrics, clock: systemClock, random: systemRandom
  })
  return {
    ...callers,
    /** @param {string | undefined} authorization */
    byToken: (authorization) =>
      /** @type {{ name: string }} */ (callers.identify({ authorization, address: '10.0.0.1', headers: {} })).name,
    /** @param {{ address: string | undefined, headers: Record<string, unknown> }} request */
    onThisMachine: (request) =>
      /** @type {{ name: string }} */ (callers.identify({ authorization: undefined, ...request })).name
  }
}

test('a caller is known by any of its tokens', () => {
  const { byToken, needToken } = callersOf(TOKENS)
  assert.equal(needToken, true)
  assert.equal(byToken('Bearer 0123456789abcdef'), 'editor')
  assert.equal(byToken('bearer  the-next-token-0'), 'editor')
  assert.equal(byToken('Bearer fedcba9876543210:with-colon'), 'billing')
  // of two names with one token it is the first
  assert.equal(callersOf(['editor:0123456789abcdef', 'heir:0123456789abcdef']).byToken('Bearer 0123456789abcdef'), 'editor')
})

test('anything that is not a caller\'s token is refused', () => {
  const { byToken } = callersOf(TOKENS)
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    '0123456789abcdef',
    'Basic 0123456789abcdef',
    'Bearer 0123456789abcde',
    'Bearer 0123456789abcdef0',
    'Bearer 0123456789ABCDEF',
    'Bearer editor:0123456789abcdef',
    'Bearer 0123456789abcdef x',
    'Bearer undefined'
  ]) {
    assert.throws(() => byToken(authorization), { code: 'unauthorized' }, authorization)
  }
})

test('without tokens a program on this machine is served, under any name of this machine', () => {
  const { onThisMachine, needToken } = callersOf([])
  assert.equal(needToken, false)
  for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
    for (const host of ['localhost', 'localhost:3001', 'LOCALHOST:3001', '127.0.0.1:3001', '[::1]', '[::1]:3001']) {
      assert.equal(onThisMachine({ address, headers: { host, 'user-agent': 'curl/8', accept: '*/*' } }), 'local')
    }
  }
  // as typed into a browser's address bar, to read /openapi.json
  assert.equal(
    onThisMachine({ address: '::1', headers: { host: 'localhost:3001', 'sec-fetch-site': 'none' } }),
    'local'
  )
})

test('without tokens, other machines, proxies, browser pages and rebound names are refused', () => {
  const { onThisMachine } = callersOf([])
  const address = '127.0.0.1'
  const host = 'localhost:3001'
  for (const [code, request] of /** @type {[string, Parameters<typeof onThisMachine>[0]][]} */ ([
    ['forbidden', { address: '192.168.0.7', headers: { host } }],
    ['forbidden', { address: '::ffff:192.168.0.7', headers: { host } }],
    ['forbidden', { address: 'fe80::1', headers: { host } }],
    ['forbidden', { address: undefined, headers: { host } }],
    ['forbidden', { address, headers: { host, 'x-forwarded-for': '1.2.3.4' } }],
    ['forbidden', { address, headers: { host, forwarded: 'for=1.2.3.4' } }],
    ['origin_refused', { address, headers: { host, origin: 'https://evil.example' } }],
    ['origin_refused', { address, headers: { host, origin: 'null' } }],
    ['origin_refused', { address, headers: { host, origin: 'http://localhost:3000' } }],
    ['origin_refused', { address, headers: { host, 'sec-fetch-site': 'cross-site' } }],
    ['origin_refused', { address, headers: { host, 'sec-fetch-site': 'same-site' } }],
    ['forbidden', { address, headers: { host: 'evil.example:3001' } }],
    ['forbidden', { address, headers: { host: 'localhost.evil.example' } }],
    ['forbidden', { address, headers: { host: '127.0.0.1.evil.example' } }],
    ['forbidden', { address, headers: { host: 'evil.example@localhost' } }],
    ['forbidden', { address, headers: { host: '' } }],
    ['forbidden', { address, headers: {} }]
  ])) assert.throws(() => onThisMachine(request), { code }, JSON.stringify(request))
})

test('with tokens every operation needs one, and the description does not', async (t) => {
  const { call, published } = await startApi(t, { tokens: TOKENS })
  const authorization = 'Bearer 0123456789abcdef'
  for (const headers of /** @type {Record<string, string>[]} */ ([{}, { authorization: 'Bearer wrong' }])) {
    for (const [method, path] of [
      ['POST', '/v1/broadcast'],
      ['DELETE', '/v1/sockets/abc'],
      ['GET', '/v1/documents/minutes/position'],
      ['GET', '/nowhere']
    ]) {
      const { status, body, headers: answered } = await call(method, path, { headers })
      assert.deepEqual(
        [status, body.error.code, answered.get('www-authenticate')],
        [401, 'unauthorized', 'Bearer'],
        path
      )
    }
  }
  assert.equal(published.length, 0)
  assert.equal((await call('GET', '/openapi.json')).status, 200)
  assert.equal(
    (await call('POST', '/v1/broadcast', { body: '1', headers: { authorization, origin: 'https://admin.example' } }))
      .status,
    202
  )
})

test('the body of a refused caller is not read', async (t) => {
  const { url } = await startApi(t, { tokens: TOKENS })
  const answer = rawHttp(
    url,
    'POST /v1/broadcast HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 900\r\n\r\n'
  )
  assert.match(await answer, /^HTTP\/1.1 401 /)
})

test('without tokens the api refuses browser pages on this machine, and logs at the start which callers it serves', async (t) => {
  const { call, published, lines } = await startApi(t)
  assert.ok(lines.some(({ level, text }) => level === 'info' && text.includes('API_TOKENS is not set')))
  // a request that any page may send without a preflight: a body without a type
  const { status, body } = await call('POST', '/v1/broadcast', {
    body: Buffer.from('1'),
    headers: { origin: 'https://evil.example' }
  })
  assert.deepEqual([status, body.error.code], [403, 'origin_refused'])
  const rebound = await rawHttp(
    (await startApi(t)).url,
    'GET /v1/documents/minutes/history HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n'
  )
  assert.match(rebound, /^HTTP\/1.1 403 [^]*"forbidden"/)
  assert.equal(published.length, 0)
})

test('in production the api fails to start without tokens', async () => {
  const nothing = /** @type {any} */ ({})
  const callers = new Callers({
    settings: { tokens: [] }, production: true, log: nothing, metrics: nothing, clock: systemClock, random: systemRandom
  })
  await assert.rejects(callers.start(), /API_TOKENS: required in production/)
})

test('tokens do not appear in the log', async (t) => {
  const { call, lines } = await startApi(t, { tokens: TOKENS, sink: async () => { throw new Error('broken') } })
  await call('POST', '/v1/broadcast', { body: '"payload"', headers: { authorization: 'Bearer 0123456789abcdef' } })
  await call('POST', '/v1/broadcast', { body: '"payload"', headers: { authorization: 'Bearer wrong-token' } })
  assert.ok(lines.some(({ level }) => level === 'error'))
  for (const { text } of lines) assert.doesNotMatch(text, /0123456789abcdef|wrong-token|payload/)
})
