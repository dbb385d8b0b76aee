import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { startApi } from '../../helpers/api.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'

/** @param {Awaited<ReturnType<typeof startApi>>} api @param {unknown} body @param {Record<string, string>} [headers] */
const batch = ({ call }, body, headers) =>
  call('POST', '/v1/publish', { body: typeof body === 'string' ? body : JSON.stringify(body), headers })

/** @param {{ body: any }} answer @returns {unknown[]} `ok` or the error's code of each result */
const codes = ({ body }) => body.results.map((/** @type {any} */ one) => one.ok ? 'ok' : one.error.code)

test('a batch publishes for documents, users and connections, and answers for each in its place', async (t) => {
  let offset = 0
  const api = await startApi(t, {
    sink: async ({ operator }) => operator === 'broadcast' ? { epoch: 'e', offset: ++offset } : null
  })
  const { status, body } = await batch(api, {
    publications: [
      { guid: 'a', value: { n: 1 }, traceId: 't1', event: 'edit', except: ['tab-1'], key: 'title' },
      { operator: 'user', uid: 'ada', value: 'hi', receipt: true },
      { guid: 'b', valueBase64: Buffer.from([0x93, 1, 2, 3]).toString('base64'), contentType: 'application/msgpack' },
      { operator: 'kick', sid: 'x' },
      { guid: 'a', value: { n: 2 }, traceId: 't2', ephemeral: true, timestamp: 1_700_000_000_007 }
    ]
  })
  assert.equal(status, 200)
  assert.equal(body.failed, 0)
  assert.deepEqual(body.results[0], { ok: true, traceId: 't1', position: { epoch: 'e', offset: 1 } })
  assert.equal(body.results[4].traceId, 't2')
  assert.equal(body.results[1].position, undefined)
  assert.deepEqual(
    api.published.filter(({ guid }) => guid === 'a').map(({ event, except, key, ephemeral, source, value }) =>
      [event, except, key, ephemeral, source, value.toString()]),
    [['edit', ['tab-1'], 'title', false, 'local', '{"n":1}'], ['message', [], undefined, true, 'local', '{"n":2}']]
  )
  assert.deepEqual(api.published.find(({ guid }) => guid === 'b')?.value, Buffer.from([0x93, 1, 2, 3]))
  assert.deepEqual(await api.counted(), { 'publishBatch 200': 1 })
})

test('values of a batch are passed on byte for byte', async (t) => {
  const api = await startApi(t)
  const values = ['12345678901234567890', '{ "a" : [1.0, "\\u0061]}"] }', '"é\\n"', 'null', '[]', 'true']
  const items = values.map((value, i) => `{"guid":"g${i}" , "value"\n:${value} }`)
  // a name may be written in another way, the last one counts, and another field of that name is none
  items.push('{"guid":"last","value":1,"v\\u0061lue":[2]}', '{"value":{"value":3},"guid":"inner"}')
  const answer = await batch(api, `{ "publications" : [${items.join(' , ')}] }`)
  assert.deepEqual(new Set(codes(answer)), new Set(['ok']))
  assert.deepEqual(api.published.map(({ value }) => value.toString()), [...values, '[2]', '{"value":3}'])
})

test('all or none of a document are published', async (t) => {
  const api = await startApi(t)
  const answer = await batch(api, {
    publications: [
      { guid: 'good', value: 1 },
      { guid: 'bad', value: 1 },
      { guid: 'bad', value: 2, event: 'doc:join' },
      { guid: 'worse', value: 1 },
      { guid: 'worse', value: 1, speed: 3 },
      { operator: 'user', uid: 'ada', event: 'connect', value: 1 },
      { operator: 'user', uid: 'ada', value: 2 },
      { operator: 'nonsense', guid: 'good' },
      7
    ]
  })
  assert.equal(answer.body.failed, 7)
  assert.deepEqual(codes(answer), [
    'ok', 'batch_refused', 'reserved_event', 'batch_refused', 'bad_request', 'reserved_event', 'ok',
    'unknown_operator', 'bad_request'
  ])
  assert.deepEqual(api.published.map(({ guid, uid }) => guid ?? uid), ['good', 'ada'])
})

test('any number of publications with a mistake refuse no others', async (t) => {
  const api = await startApi(t)
  const wrong = Array.from({ length: 300 }, () => ({ operator: 'user', uid: 'ada', value: 1, speed: 3 }))
  const answer = await batch(api, { publications: [...wrong, { guid: 'good', value: 1 }] })
  assert.deepEqual([answer.status, answer.body.failed, codes(answer).at(-1)], [200, 300, 'ok'])
  assert.deepEqual(api.published.map(({ guid }) => guid), ['good'])
})

test('each publication of a batch has its idempotency key, the same as over its own path', async (t) => {
  let failing = true
  const api = await startApi(t, {
    sink: async ({ guid }) => {
      if (guid === 'b' && failing) throw new InkcastError('unavailable')
      return { epoch: 'e', offset: 1 }
    }
  })
  const publications = ['a', 'b', 'c'].map((guid) => ({ guid, value: 1, idempotencyKey: `key-${guid}` }))
  const first = await batch(api, { publications })
  assert.deepEqual(codes(first), ['ok', 'unavailable', 'ok'])
  failing = false
  const again = await batch(api, { publications })
  assert.deepEqual(codes(again), ['ok', 'ok', 'ok'])
  assert.deepEqual(again.body.results[0], first.body.results[0])
  assert.deepEqual(api.published.map(({ guid }) => guid), ['a', 'b', 'c', 'b'])
  const single = await api.call('POST', '/v1/documents/a/broadcast', { body: '1', headers: { 'idempotency-key': 'key-a' } })
  assert.equal(single.body.traceId, first.body.results[0].traceId)
  assert.equal(api.published.length, 4)
  // the same key twice is one publication; of one document none is published
  const twice = { idempotencyKey: 'twice', value: 1 }
  const answer = await batch(api, { publications: [{ guid: 'd', ...twice }, { guid: 'd', ...twice }] })
  assert.deepEqual(codes(answer), ['batch_refused', 'request_in_progress'])
  assert.equal(api.published.length, 4)
})

test('publications of a refused batch may be corrected under their keys', async (t) => {
  const api = await startApi(t)
  const good = { guid: 'a', value: 1, idempotencyKey: 'key-1' }
  const bad = { guid: 'a', value: 2, idempotencyKey: 'key-2', event: 'doc:join' }
  assert.deepEqual(codes(await batch(api, { publications: [good, bad] })), ['batch_refused', 'reserved_event'])
  const publications = [{ ...good, value: 3 }, { ...bad, event: 'edit' }]
  assert.deepEqual(codes(await batch(api, { publications })), ['ok', 'ok'])
  assert.deepEqual(api.published.map(({ value }) => value.toString()), ['3', '2'])
})

test('a batch is bounded', async (t) => {
  const api = await startApi(t)
  const item = { guid: 'g', value: 1 }
  const many = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => ({ guid: `g${i % 10}`, value: 1 }))
  for (const [body, status, code] of /** @type {[unknown, number, string][]} */ ([
    [{ publications: [] }, 400, 'bad_request'],
    [{ publications: many(1001) }, 400, 'bad_request'],
    [{ publications: Array(257).fill(item) }, 400, 'bad_request'],
    [{ publications: item }, 400, 'bad_request'],
    [{ publications: [item], wait: true }, 400, 'bad_request'],
    ['[', 400, 'bad_request'],
    ['null', 400, 'bad_request'],
    [`{"publications":[{"value":${'['.repeat(300)}${']'.repeat(300)}}]}`, 400, 'bad_value'],
    [{ publications: [{ guid: 'g', value: 'x'.repeat(4 * 2 ** 20) }] }, 413, 'value_too_large']
  ])) {
    const answer = await batch(api, body)
    assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(body).slice(0, 60))
  }
  assert.equal(api.published.length, 0)
  assert.equal((await batch(api, { publications: many(1000) })).body.failed, 0)
  assert.deepEqual(codes(await batch(api, { publications: [{ guid: 'g', value: 'x'.repeat(1000) }] })), ['value_too_large'])
  assert.equal((await batch(api, 'x', { 'content-type': 'application/msgpack' })).status, 415)
})

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const gateway = await startEmbedded(t)
  return {
    ...gateway,
    publish: (/** @type {object[]} */ ...publications) => gateway.post('/v1/publish', { publications })
  }
}

describe('a batch, with clients', () => {
  test('reaches many documents and users, in order per document, with a result for each', async (t) => {
    const { url, publish } = await start(t)
    const client = startClient(t, url)
    const docs = await Promise.all(['a', 'b'].map((guid) => openDocument(client, guid)))
    const { status, body } = await publish(
      { guid: 'a', value: 1 }, { guid: 'b', value: { n: 1 } }, { guid: 'a', event: 'message', value: 2, traceId: 't' },
      { operator: 'user', uid: 'nobody', value: 'x' }, { guid: 'a', value: 3, ephemeral: true }
    )
    assert.equal(status, 200)
    await docs[0].has(3)
    assert.deepEqual([docs[0].seen, docs[1].seen], [[1, 2, 3], [{ n: 1 }]])
    assert.deepEqual(
      body.results.map((/** @type {any} */ { ok, position }) => [ok, position?.offset]),
      [[true, 1], [true, 1], [true, 2], [true, undefined], [true, undefined]])
    assert.deepEqual([body.ok, body.failed, body.results[2].traceId], [true, 0, 't'])
  })

  test('is published once, however often it is sent, by the keys of its items', async (t) => {
    const { url, publish, post } = await start(t)
    const doc = await openDocument(startClient(t, url), 'a')
    const batch = [{ guid: 'a', value: 1, idempotencyKey: 'one' }, { guid: 'a', value: 2, idempotencyKey: 'two' }]
    assert.equal((await publish(...batch)).body.failed, 0)
    const { body } = await publish(...batch, { guid: 'a', value: 3 })
    assert.deepEqual(body.results.map((/** @type {any} */ { position }) => position.offset), [1, 2, 3])
    // the same key as alone
    await post('/v1/documents/a/broadcast', 2, { 'idempotency-key': 'two' })
    await doc.has(3)
    assert.deepEqual(doc.seen, [1, 2, 3])
  })

  test('takes values in base64 byte for byte', async (t) => {
    const { publish, apiUrl } = await start(t)
    const text = '{"n":12345678901234567890}'
    const { body } = await publish({ guid: 'a', valueBase64: Buffer.from(text).toString('base64') })
    assert.equal(body.failed, 0)
    const history = await (await fetch(`${apiUrl}/v1/documents/a/history`)).text()
    assert.ok(history.includes(text), history)
    const wrong = await publish(
      { guid: 'a', valueBase64: '%' }, { guid: 'b', value: 1, valueBase64: 'MQ==' }, {
        guid: 'c', value: 1, contentType: 'application/msgpack'
      }
    )
    assert.deepEqual(
      wrong.body.results.map((/** @type {any} */ { error }) => error.code), ['bad_request', 'bad_request', 'bad_content_type'])
  })
})
