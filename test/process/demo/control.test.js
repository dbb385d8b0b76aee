import assert from 'node:assert/strict'
import http from 'node:http'
import os from 'node:os'
import { test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { waitFor } from '../../helpers/wait.js'

const scope = fileScope()
const inkcast = await startEmbedded(scope, { HOST: '0.0.0.0' })
const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * @param {string} path
 * @param {{ method?: string, headers?: Record<string, string>, body?: string, host?: string }} [options]
 * @returns {Promise<{ status: number | undefined, body: any }>}
 */
function request (path, { method = 'GET', headers = {}, body, host = '127.0.0.1' } = {}) {
  return new Promise((resolve, reject) => {
    const { port } = new URL(inkcast.url)
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const all = { ...length, ...headers }
    const req = http.request({ host, port, path, method, headers: all, agent: false }, async (res) => {
      let text = ''
      for await (const chunk of res.setEncoding('utf8')) text += chunk
      resolve({ status: res.statusCode, body: text === '' ? undefined : JSON.parse(text) })
    })
    req.on('error', reject)
    req.end(body)
  })
}

/** @param {object} body @param {Record<string, string>} [headers] @param {string} [path] */
const post = (body, headers, path = '/control/crowd') =>
  request(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

test('in embedded mode there is nothing to break, and a reason', async () => {
  const { status, body } = await request('/control/state')
  assert.deepEqual([status, body.kinds, body.reason], [200, [], 'embedded'])
  const refused = await post({ kind: 'kill', document: 'demo' }, {}, '/control/fault')
  assert.deepEqual([refused.status, refused.body.error.code], [404, 'not_found'])
})

test('pages of another site press no button', async () => {
  const { port } = new URL(inkcast.url)
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://localhost:${Number(port) + 1}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: inkcast.url }
  ]) {
    const { status, body } = await post({ document: 'demo', guests: 1 }, /** @type {any} */ (headers))
    assert.deepEqual([status, body.error.code], [403, 'forbidden'], JSON.stringify(headers))
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const { status } = await request('/control/crowd', {
      method: 'POST', headers: { 'content-type': type }, body: '{"document":"demo","guests":1}'
    })
    assert.equal(status, 415, type)
  }
  assert.equal((await request('/control/state')).body.crowd, null)
})

test('requests from elsewhere are refused: another address, a proxy, a name of this machine', async (t) => {
  for (const headers of [
    { 'x-forwarded-for': '192.0.2.1' }, { forwarded: 'for=192.0.2.1' }, { host: 'inkcast.internal' }
  ]) {
    const hops = await request('/control/hops?document=demo', { headers: /** @type {any} */ (headers) })
    const crowd = await post({ document: 'demo', guests: 1 }, /** @type {any} */ (headers))
    for (const { status, body } of [hops, crowd])
      assert.deepEqual([status, body.error.code], [403, 'forbidden'], JSON.stringify(headers))
    // the page shows why, and nothing else
    const { status, body } = await request('/control/state', { headers: /** @type {any} */ (headers) })
    assert.deepEqual([status, body], [200, { ok: true, kinds: [], reason: 'elsewhere', fault: null, pulse: null, crowd: null }])
  }
  const address = Object.values(os.networkInterfaces()).flat()
    .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address
  if (address === undefined) return t.diagnostic('this machine has no other address')
  for (const headers of [{}, { host: 'localhost' }])
    assert.equal((await request('/control/hops?document=demo', { host: address, headers: /** @type {any} */ (headers) })).status, 403)
})

test('wrong requests are refused with a reason', async () => {
  assert.equal((await post({ document: '', guests: 1 })).body.error.message, 'document must be the id of a document')
  assert.match((await post({ document: 'demo', guests: 1001 })).body.error.message, /^guests must be a number from 1 to/)
  assert.equal((await post({ document: 'demo', guests: 0 })).status, 400)
  assert.equal((await request('/control/crowd', { method: 'POST', headers: JSON_TYPE, body: '[' })).status, 400)
  assert.equal((await request('/control/crowd', { method: 'POST', headers: JSON_TYPE, body: `"${'x'.repeat(5000)}"` })).status, 413)
  assert.equal((await request('/control/nothing')).status, 404)
  assert.equal((await request('/control/hops')).status, 400)
})

test('a crowd has the document open and gets every record; one at a time, until it is removed', async () => {
  const begun = await post({ document: 'crowded', guests: 8 })
  assert.deepEqual([begun.status, begun.body.crowd.guests, begun.body.pulse.running], [202, 8, true])
  const again = await post({ document: 'other', guests: 1 })
  assert.deepEqual([again.status, again.body.error.code], [409, 'request_in_progress'])
  const { crowd } = await waitFor(async () => {
    const { body } = await request('/control/state')
    return body.crowd.connected === 8 && body.crowd.perSecond > 0 && body.crowd.deliveries > 80 && body
  }, { message: 'the guests to get records' })
  assert.equal(crowd.lost, 0)
  assert.equal(inkcast.gateway.connections, 8)
  const other = await post({ document: 'other', guests: 1 })
  assert.equal(other.status, 409)
  await request('/control/crowd', { method: 'DELETE', headers: JSON_TYPE, body: '{}' })
  await waitFor(() => inkcast.gateway.connections === 0, { message: 'the guests to leave' })
  const { pulse } = await waitFor(async () => {
    const { body } = await request('/control/state')
    return !body.crowd.running && !body.pulse.running && body.pulse.open.length === 0 && body
  }, { message: 'the records to end' })
  assert.deepEqual([pulse.refused, pulse.problem], [[], null])
})

test('the hops of a record are sent while they are requested', async (t) => {
  const { port } = new URL(inkcast.url)
  const req = http.get({ port, host: '127.0.0.1', path: '/control/hops?document=watched', agent: false })
  t.after(() => req.destroy())
  req.on('error', () => {})
  let text = ''
  req.on('response', (res) => { res.setEncoding('utf8').on('data', (chunk) => { text += chunk }).on('error', () => {}) })
  await waitFor(() => text.includes('"watching"'), { message: () => text })
  await inkcast.post('/v1/documents/watched/broadcast', { secret: 1 })
  await waitFor(() => text.includes('"logged"'), { message: () => text })
  assert.ok(!text.includes('secret'))
})

test('in production there is no control', async (t) => {
  const production = await startEmbedded(t, {
    NODE_ENV: 'production', HOST: '127.0.0.1', API_TOKENS: 'test:0123456789abcdef', AUTH_ALLOW_ANONYMOUS: 'true'
  })
  for (const [method, path] of [
    ['GET', 'state'], ['POST', 'fault'], ['POST', 'crowd'], ['DELETE', 'crowd'], ['GET', 'hops?document=demo']
  ]) {
    const answer = await fetch(`${production.url}/control/${path}`, {
      method, ...(method === 'GET' ? {} : { headers: JSON_TYPE, body: '{"document":"demo","kind":"kill"}' })
    })
    assert.equal(answer.status, 404, path)
  }
})
