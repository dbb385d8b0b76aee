import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { startApi } from '../../helpers/api.js'
import { callersFile } from '../../helpers/callers-file.js'

const TOKEN = 'token-of-the-editor'
const RATE = { perSecond: 1, burst: 10 }

/** Kinds of publications that this caller is refused. @type {Record<string, object>} */
const REFUSED = {
  'not an object': [],
  'an unknown field': { guid: 'notes/1', evnt: 'edit', value: 1 },
  'a field of a wrong type': { guid: 7, value: 1 },
  'no right to the document': { guid: 'minutes', value: 1 },
  'no right to the operator': { operator: 'user', uid: 'ada', value: 1 },
  // by the publish path
  'a target that the operator has no use for': { guid: 'notes/1', uid: 'ada', value: 1 },
  'a reserved event': { guid: 'notes/1', event: 'doc:join', value: 1 },
  'a value that is not UTF-8': { guid: 'notes/1', valueBase64: '/w==' }
}

/** @param {import('node:test').TestContext} t @param {object} [more] */
async function start (t, more = {}) {
  const { path } = callersFile(t, {
    callers: [{ name: 'editor', tokens: [{ text: TOKEN }], operators: ['broadcast'], guids: ['notes/*'], ...more }]
  })
  const api = await startApi(t, { callersFile: path, maxRecordBytes: 2 ** 20 })
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  return {
    ...api,
    /** @param {object[]} publications */
    publish: (publications) => api.call('POST', '/v1/publish', { headers, body: JSON.stringify({ publications }) })
  }
}

for (const [kind, one] of Object.entries(REFUSED)) {
  test(`a refused publication counts against the rate: ${kind}`, async (t) => {
    const { publish } = await start(t, { rate: RATE })
    await publish(Array.from({ length: 10 }, () => one))
    const { body } = await publish([{ guid: 'notes/1', value: 1 }])
    assert.equal(body.results[0].error?.code, 'rate_limited')
  })

  test(`a caller without a rate that causes many refusals is refused before its request is read: ${kind}`, async (t) => {
    const { publish, clock } = await start(t)
    const refused = Array.from({ length: 1000 }, () => one)
    const good = [{ guid: 'notes/1', value: 1 }]
    for (let i = 0; i < 3; i++) assert.notEqual((await publish(refused)).status, 429)
    const { status, body, headers } = await publish(good)
    assert.deepEqual([status, body.error.code, headers.get('retry-after')], [429, 'rate_limited', '1'])
    clock.advance(1000)
    assert.equal((await publish(good)).body.failed, 0)
  })
}

test('publications of single requests that the publish path refuses are charged', async (t) => {
  const { call, clock } = await start(t)
  const send = (/** @type {string} */ event) => call('POST', '/v1/documents/notes%2F1/broadcast', {
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'x-event': event }, body: '1'
  })
  const statuses = new Set()
  for (let i = 0; i < 60 && !statuses.has(429); i++) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => send('doc:join')))
    for (const { status } of answers) statuses.add(status)
  }
  assert.deepEqual([...statuses].sort(), [400, 429])
  clock.advance(2000)
  assert.equal((await send('edit')).status, 202)
})

test('a batch with too many publications is charged as a whole, and for two seconds at most', async (t) => {
  const { publish, clock } = await start(t)
  for (let i = 0; i < 2; i++) {
    const { status, body } = await publish(Array.from({ length: 2500 }, () => ({})))
    assert.deepEqual([status, body.error.code], i === 0 ? [400, 'bad_request'] : [429, 'rate_limited'])
  }
  clock.advance(2000)
  assert.equal((await publish([{ guid: 'notes/1', value: 1 }])).body.failed, 0)
})

/**
 * Batches that are small in bytes and large in what decoding makes of them.
 * @type {Record<string, (size: number) => string>}
 */
const LARGE = {
  'empty objects': (size) => `{"publications":[${'{},'.repeat(size / 3)}{}]}`,
  'empty arrays': (size) => `{"publications":[${'[],'.repeat(size / 3)}[]]}`,
  numbers: (size) => `{"publications":[${'1,'.repeat(size / 2)}1]}`,
  'empty texts': (size) => `{"publications":[${'"",'.repeat(size / 3)}""]}`,
  'fields of one item': (size) =>
    `{"publications":[{${Array.from({ length: size / 11 }, (_, i) => `"${i}":1`).join()}}]}`,
  'fields of the body': (size) => `{${Array.from({ length: size / 11 }, (_, i) => `"${i}":1`).join()},"publications":[]}`,
  'a text that does not end': (size) => `{"publications":["${'x'.repeat(size)}`,
  'lists in lists': (size) => `{"publications":[{"guid":"notes/1","value":${'['.repeat(size / 2)}${']'.repeat(size / 2)}}]}`,
  'lists in lists that do not end': (size) => '['.repeat(size)
}

for (const [kind, make] of Object.entries(LARGE)) {
  test(`a batch is counted before it is decoded: ${kind}`, async (t) => {
    const { call } = await start(t)
    const body = make(2_000_000)
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const { status, body: answer } = await call('POST', '/v1/publish', { headers, body })
    assert.deepEqual([status, answer.error.code], [400, kind.startsWith('lists') ? 'bad_value' : 'bad_request'])
    // a message about JSON would come from the decoder
    const counted = /^(?:a batch has 1 to 1000 publications|a publication has at most 50 fields|a value is nested too deep)$/
    assert.match(answer.error.message, kind === 'a text that does not end' ? /it is not valid JSON/ : counted)
  })
}

test('the values of a batch are counted before it is decoded', async (t) => {
  const { publish } = await start(t)
  for (const value of [Array(700_000).fill([]), Array(700_000).fill({})]) {
    const { status, body } = await publish([{ guid: 'notes/1', value }])
    assert.deepEqual([status, body.error.message], [400, 'there are more than 1048576 values in one message'])
  }
})

test('the CPU time of decoding values is charged', async (t) => {
  const { call, clock } = await start(t)
  // 50 ms for each part that is decoded
  let used = 0
  clock.cpu = () => used += 50
  const value = `[${'[],'.repeat(30_000)}[]]`
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const send = () => call('POST', '/v1/publish', { headers, body: `{"publications":[{"guid":"notes/1","value":${value}}]}` })
  // a refusal costs as much as 0.25 ms, and 2,000 are free
  for (let i = 0; i < 11; i++) assert.notEqual((await send()).status, 429)
  assert.equal((await send()).status, 429)
  clock.advance(2000)
  assert.notEqual((await send()).status, 429)
})

test('the place of a mistake in the JSON of a batch is named, and an empty body', async (t) => {
  const { call } = await start(t)
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  for (const [body, message] of /** @type {[string, RegExp][]} */ ([
    ['{"publications":[{]}', /it is not valid JSON at character 18$/],
    ['{"publications":[', /it is not valid JSON: it ends too early, after 17 characters$/],
    ['{"publications":[{"guid":"a","value":NaN}]}', /not valid JSON: JSON has neither NaN nor Infinity$/],
    ['', /^the body is empty: the body must be/],
    ['null', /^the body must be \{ "publications": \[ … \] \}$/]
  ])) {
    const { body: answer } = await call('POST', '/v1/publish', { headers, body })
    assert.match(answer.error.message, message)
  }
})

test('batches of 100 requests at once are refused no faster than those of one', async (t) => {
  const { url } = await start(t)
  const body = JSON.stringify({ publications: Array.from({ length: 1000 }, () => ({})) })
  const requests = await Promise.all(Array.from({ length: 100 }, async () => {
    const one = request(`${url}/v1/publish`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'content-length': body.length,
        expect: '100-continue'
      }
    })
    t.after(() => one.destroy())
    one.flushHeaders()
    // its headers are read, and the caller is known
    await once(one, 'continue')
    return one
  }))
  const statuses = await Promise.all(requests.map(async (one) => {
    const answered = once(one, 'response')
    one.end(body)
    const [answer] = await answered
    answer.resume()
    return answer.statusCode
  }))
  assert.equal(statuses.filter((status) => status === 429).length, 97)
})
