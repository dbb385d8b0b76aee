import assert from 'node:assert/strict'
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
  'no right to the operator': { operator: 'user', uid: 'ada', value: 1 }
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

test('a batch with too many publications is charged as a whole, and for two seconds at most', async (t) => {
  const { publish, clock } = await start(t)
  for (let i = 0; i < 2; i++) {
    const { status, body } = await publish(Array.from({ length: 2500 }, () => ({})))
    assert.deepEqual([status, body.error.code], i === 0 ? [400, 'bad_request'] : [429, 'rate_limited'])
  }
  clock.advance(2000)
  assert.equal((await publish([{ guid: 'notes/1', value: 1 }])).body.failed, 0)
})
