import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedisRequests } from '../../../src/services/api/idempotency/redis-requests.js'
import { busSink, createPublish } from '../../../src/services/api/publish.js'
import { createPublisher } from '../../../src/log/publish/publisher.js'
import { createRedisBus } from '../../../src/log/bus/redis-bus.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { startApi } from '../../helpers/api.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { publicationWith } from '../../helpers/publication.js'
import { storeRedis } from '../../helpers/store-redis.js'

const PATH = '/v1/documents/minutes/broadcast'

test('a retry with the same key publishes nothing again and gets the same response', async (t) => {
  const { call, published } = await startApi(t, { sink: async () => ({ epoch: 'e', offset: 7 }) })
  const headers = { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' }
  const first = await call('POST', PATH, { body: '{"a":1}', headers: { ...headers, 'x-trace-id': 'trace-1' } })
  assert.deepEqual(
    [first.status, first.body],
    [202, { ok: true, traceId: 'trace-1', position: { epoch: 'e', offset: 7 } }]
  )
  for (const more of /** @type {Record<string, string>[]} */ ([
    {},
    { 'x-trace-id': 'trace-2', 'x-timestamp': '1700000000005' },
    { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' }
  ])) {
    const again = await call('POST', PATH, { body: '{"a":1}', headers: { ...headers, ...more } })
    assert.deepEqual([again.status, again.body, again.headers.get('x-trace-id')], [202, first.body, 'trace-1'])
  }
  assert.equal(published.length, 1)
  assert.match(published[0].idempotencyKey ?? '', /^[\w-]{43}$/)
})

test('every publishing operation accepts a key', async (t) => {
  const { call, published } = await startApi(t)
  for (const [method, path, body] of /** @type {const} */ ([
    ['POST', PATH, '1'],
    ['POST', '/v1/users/ada/send', '1'],
    ['POST', '/v1/sockets/s1/send', '1'],
    ['POST', '/v1/broadcast', '1'],
    ['DELETE', '/v1/users/ada/connections', undefined],
    ['DELETE', '/v1/sockets/s1', undefined],
    ['POST', '/v1/documents/minutes/revoke', '{"uid":"ada"}']
  ])) {
    const before = published.length
    const answers = []
    for (let i = 0; i < 2; i++)
      answers.push(
        await call(method, path, { body, headers: { 'idempotency-key': `${method} ${path}`.replaceAll(' ', '-') } })
      )
    assert.deepEqual([answers[0].status, answers[1].status, answers[1].body], [202, 202, answers[0].body], path)
    assert.equal(published.length, before + 1, path)
  }
})

test('the same key with another target, value or header is refused and publishes nothing', async (t) => {
  const { call, published } = await startApi(t)
  const headers = { 'idempotency-key': 'k' }
  await call('POST', PATH, { body: '1', headers })
  for (const other of [
    call('POST', PATH, { body: '2', headers }),
    call('POST', '/v1/documents/other/broadcast', { body: '1', headers }),
    call('POST', '/v1/broadcast', { body: '1', headers }),
    call('POST', PATH, { body: '1', headers: { ...headers, 'x-event': 'edit' } }),
    call('DELETE', '/v1/users/minutes/connections', { headers })
  ]) {
    const { status, body } = await other
    assert.deepEqual([status, body.error.code, body.error.retryable], [422, 'idempotency_mismatch', false])
  }
  assert.equal(published.length, 1)
})

test('two callers may use the same key', async (t) => {
  const { call, published } = await startApi(t, { tokens: ['editor:0123456789abcdef', 'billing:fedcba9876543210'] })
  for (const [token, body] of [['0123456789abcdef', '1'], ['fedcba9876543210', '2'], ['0123456789abcdef', '1']]) {
    assert.equal(
      (await call('POST', PATH, { body, headers: { 'idempotency-key': 'k', authorization: `Bearer ${token}` } }))
        .status,
      202
    )
  }
  assert.deepEqual(published.map(({ value }) => value.toString()), ['1', '2'])
})

test('while the first request is in progress, others get a retry delay, and later its response', async (t) => {
  let finish = () => {}
  const { call, published } = await startApi(t, { sink: () => new Promise((resolve) => { finish = () => resolve() }) })
  const headers = { 'idempotency-key': 'k' }
  const first = call('POST', PATH, { body: '1', headers })
  while (published.length === 0) await new Promise((resolve) => { setImmediate(resolve) })
  const second = await call('POST', PATH, { body: '1', headers })
  assert.deepEqual(
    [second.status, second.headers.get('retry-after'), second.body.error.code, second.body.error.retryable],
    [409, '1', 'request_in_progress', true]
  )
  finish()
  const { body } = await first
  assert.deepEqual((await call('POST', PATH, { body: '1', headers })).body, body)
  assert.equal(published.length, 1)
})

test('a failed request is retried with the same trace id, and an invalid one may be corrected', async (t) => {
  let fail = true
  const { call, published } = await startApi(t, { sink: async () => { if (fail) throw new InkcastError('timeout') } })
  const headers = { 'idempotency-key': 'k' }
  assert.equal((await call('POST', PATH, { body: '{', headers })).status, 400)
  assert.equal((await call('POST', PATH, { body: '1', headers })).status, 504)
  fail = false
  const again = await call('POST', PATH, { body: '1', headers })
  assert.equal(again.status, 202)
  assert.deepEqual(published.map(({ traceId }) => traceId), [again.body.traceId, again.body.traceId])
})

test('a request that Kafka refuses may be corrected under the same key', async (t) => {
  const { call, published } = await startApi(t, {
    sink: async ({ value }) => { if (value.length > 5) throw new InkcastError('value_too_large') }
  })
  const headers = { 'idempotency-key': 'k' }
  const refused = await call('POST', PATH, { body: '"much too long"', headers })
  assert.equal(refused.status, 413)
  const corrected = await call('POST', PATH, { body: '"ok"', headers: { ...headers, 'x-trace-id': 'corrected' } })
  assert.deepEqual([corrected.status, corrected.body], [202, { ok: true, traceId: 'corrected' }])
  assert.deepEqual((await call('POST', PATH, { body: '"ok"', headers })).body, corrected.body)
  assert.equal((await call('POST', PATH, { body: '"no"', headers })).status, 422)
  assert.equal(published.length, 2)
})

test('a request that may be published keeps its key when its retry is refused', async (t) => {
  let code = /** @type {'timeout' | 'value_too_large'} */ ('timeout')
  const { call } = await startApi(t, { sink: async () => { throw new InkcastError(code) } })
  const headers = { 'idempotency-key': 'k' }
  assert.equal((await call('POST', PATH, { body: '1', headers })).status, 504)
  code = 'value_too_large'
  assert.equal((await call('POST', PATH, { body: '1', headers })).status, 413)
  assert.equal((await call('POST', PATH, { body: '2', headers })).status, 422)
})

for (const [what, key] of [['empty', '""'], ['too long', 'x'.repeat(256)], ['two', '"a", "b"'], ['not ASCII', '"ü"']]) {
  test(`a key that is ${what} is refused`, async (t) => {
    const { call, published } = await startApi(t)
    const { status, body } = await call('POST', PATH, { body: '1', headers: { 'idempotency-key': key } })
    assert.deepEqual([status, body.error.code], [400, 'bad_header'])
    assert.equal(published.length, 0)
  })
}

test('after a process dies between publishing and storing the response, the retried record is in the log once', async (t) => {
  const { log } = recordingLog()
  const { redis } = await storeRedis(t)
  const metrics = createMetrics({ processMetrics: false })
  const bus = createRedisBus({ redis, log, metrics, clock: systemClock, random: systemRandom })
  t.after(() => bus.stop())
  const limits = { maxRecordBytes: 100 }
  await bus.start()
  const requests = createRedisRequests({ redis, clock: systemClock, random: systemRandom })
  const forgetful = { ...requests, finish: async (/** @type {string} */ id) => requests.release(id) }
  const publish = createPublish({
    sink: busSink(createPublisher({ bus, limits, metrics, clock: systemClock })),
    limits,
    requests: forgetful
  })
  const publication = publicationWith({ traceId: 't1', idempotencyKey: 'k' })
  const first = await publish(publication)
  assert.equal(first.position?.offset, 1)
  assert.deepEqual(await publish({ ...publication, traceId: 't2' }), { traceId: 't1' })
  assert.equal((await bus.positions(['minutes']))[0]?.offset, 1)
})
