import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { lacksPythonPublisher, runPython, startPythonPublisher } from '../../helpers/python-publisher.js'
import { compareWithOpenapi, startRecordingApi } from '../../helpers/recording-api.js'

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ROOT), 'utf8')

test('the package for Python has the version of all packages, and urllib3 as its only dependency', () => {
  const project = read('packages/python/pyproject.toml')
  assert.equal(/^version = "(.+)"$/m.exec(project)?.[1], JSON.parse(read('package.json')).version)
  assert.deepEqual(/^dependencies = \[(.+)\]$/m.exec(project)?.[1], '"urllib3>=2.0,<3"')
})

describe('the publisher for Python', { skip: await lacksPythonPublisher() }, async () => {
  const server = await startEmbedded({ after })
  const fresh = () => `doc-${randomUUID()}`
  /** @param {string} path @returns {Promise<any>} */
  const get = async (path) => (await fetch(server.apiUrl + path)).json()

  test('publishes and carries out orders, and reports refusals with their code', async (t) => {
    const call = startPythonPublisher(t, server.apiUrl)
    const guid = fresh()
    assert.equal((await call('publish', [guid, { text: 'Grüße' }], { event: 'größe' })).result.position.offset, 1)
    const [{ event, value }] = (await get(`/v1/documents/${guid}/history`)).records
    assert.deepEqual([event, value], ['größe', { text: 'Grüße' }])
    assert.equal((await call('publish_to_user', ['ada', 1], { keep: true })).result.position.offset, 1)
    const { result: [first, refused] } = await call('batch', [[{ guid, value: null }, { guid: 'other', event: 'doc:x', value: 2 }]])
    assert.deepEqual([first.position.offset, refused.error.code], [2, 'reserved_event'])
    assert.equal((await call('kick', ['ada'])).result.connections, 0)
    assert.equal((await call('close_document', [guid], { code: 'moved', reason: 'It is elsewhere' })).result.ok, true)
    const { error } = await call('publish', [guid, 1], { event: 'doc:x' })
    assert.deepEqual(error, {
      code: 'reserved_event', status: 400, retryable: false, retry_in: null, unknown_outcome: false
    })
    assert.equal((await call('publish', [guid, 1], { evnt: 'x' })).error.code, 'bad_request')
    assert.equal((await call('publish', [guid, 1], { event: 'a\nb' })).error.code, 'bad_header')
  })

  test('waits as long as a 503 asks, and a connection that is cut after the record was taken leaves one record', async (t) => {
    const guid = fresh()
    const { url, requests } = await startRecordingApi(t, async ({ method, path, headers, body }, res, i) => {
      if (i === 0) return res.writeHead(503, { 'retry-after': '7' }).end('busy')
      const kept = { 'content-type': headers['content-type'], 'idempotency-key': headers['idempotency-key'] ?? randomUUID() }
      const answer = await fetch(server.apiUrl + path, { method, headers: kept, body })
      const text = await answer.text()
      if (i === 1 || i === 3) return res.destroy()
      return res.writeHead(answer.status).end(text)
    })
    const call = startPythonPublisher(t, url)
    assert.equal((await call('publish', [guid, 'once'])).result.position.offset, 1)
    assert.deepEqual((await call('pauses', [])).result, [7.2, 0.4])
    assert.equal(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size, 1)
    const { result } = await call('batch', [[{ guid, value: 'two' }, { guid, value: 'three' }]])
    assert.deepEqual(result.map((/** @type {any} */ { ok }) => ok), [true, true])
    const { records } = await get(`/v1/documents/${guid}/history`)
    assert.deepEqual(records.map((/** @type {any} */ { value }) => value), ['once', 'two', 'three'])
  })

  test('gives up when the next try would be after its deadline', async (t) => {
    const { url, requests } = await startRecordingApi(t, (_request, res) => res.writeHead(503, { 'retry-after': '7' }).end())
    const { error } = await startPythonPublisher(t, url)('publish', ['a', 1], { deadline: 5 })
    assert.deepEqual([error.code, error.status, error.retry_in, requests.length], ['unavailable', 503, 7, 1])
  })

  test('of a batch only what failed for the moment is sent again, with its key', async (t) => {
    const [ok, refused] = [{ ok: true, traceId: 't' }, { ok: false, error: { code: 'bad_value', message: 'm', retryable: false } }]
    const failed = { ok: false, error: { code: 'unavailable', message: 'm', retryable: true, retryInMs: 50 } }
    const together = { ok: false, error: { code: 'batch_refused', message: 'm', retryable: false } }
    const answers = [[ok, failed, together, refused, together], [ok, ok]]
    const { url, requests } = await startRecordingApi(t, (_request, res, i) =>
      res.end(JSON.stringify({ ok: true, failed: 0, results: answers[i] })))
    const { result } = await startPythonPublisher(t, url)('batch', [['a', 'b', 'b', 'c', 'c'].map((guid, value) => ({ guid, value }))])
    assert.deepEqual(
      result.map((/** @type {any} */ one) => one.ok ? 'ok' : one.error.code), ['ok', 'ok', 'ok', 'bad_value', 'batch_refused']
    )
    const [first, second] = requests.map(({ body }) => JSON.parse(body).publications)
    assert.deepEqual(second, [first[1], first[2]])
  })

  test('sends only what openapi.json has, and names only codes of docs/errors.md', async (t) => {
    const { url, requests } = await startRecordingApi(t)
    const call = startPythonPublisher(t, url)
    const request = { idempotency_key: 'k', trace_id: 't', traceparent: '00-0-0-01', timestamp: 1 }
    const send = { ...request, event: 'e', except_: ['a', 'b'], receipt: true }
    const calls = /** @type {[string, unknown[], object][]} */ ([
      ['publish', ['a/b', 1], { ...send, ephemeral: false, key: 'x' }],
      ['publish', ['a', { bytes: [1] }], {}],
      ['publish_to_user', ['u', 1], { ...send, keep: true, key: 'x' }],
      ['publish_to_device', ['d', 1], { ...send, uid: 'u', keep: true }],
      ['publish_to_connection', ['s', 1], send],
      ['publish_to_everyone', [1], send],
      ['batch', [[{ ...send, guid: 'a', value: 1, ephemeral: true }, { ...send, operator: 'user', uid: 'u', value: 1, keep: true }]], {}],
      ['kick', ['u'], request],
      ['ban', ['u', 60], request],
      ['unban', ['u'], request],
      ['kick_device', ['d'], { ...request, uid: 'u' }],
      ['kick_connection', ['s'], request],
      ['revoke', ['a', 'u'], { ...request, ttl: 60 }],
      ['restore', ['a', 'u'], request],
      ['close_document', ['a'], { ...request, code: 'c', reason: 'r' }],
      ['join', ['u', 'a'], request],
      ['leave', ['u', 'a'], { ...request, code: 'c', reason: 'r' }]
    ])
    for (const [method, args, options] of calls)
      assert.equal((await call(method, args, options)).error, undefined, method)
    const { wrong, operations } = compareWithOpenapi(requests, await get('/openapi.json'))
    assert.deepEqual(wrong, [])
    assert.equal(operations.length, 15)
    assert.ok(requests.every(({ headers }) => headers.authorization === 'Bearer secret'))
    const codes = [...read('packages/python/inkcast/errors.py').matchAll(/^ {4}"(\w+)",$/gm)].map(([, code]) => code)
    assert.ok(codes.length > 20)
    assert.deepEqual(codes.filter((code) => !read('docs/errors.md').includes(`| \`${code}\` |`)), [])
  })

  test('checks the signature and the time of a webhook', async (t) => {
    const call = startPythonPublisher(t, server.apiUrl)
    const [key, body, now] = [Buffer.alloc(24, 7), '[{"operator":"online"}]', 1_700_000_000]
    const secret = `whsec_${key.toString('base64')}`
    const headers = {
      'Webhook-Id': 'a', 'webhook-timestamp': String(now),
      'webhook-signature': `v1,AAAA v1,${createHmac('sha256', key).update(`a.${now}.${body}`).digest('base64')}`
    }
    const other = `whsec_${Buffer.alloc(24).toString('base64')}`
    assert.deepEqual((await call('verify', [[other, secret], headers, body], { now: now - 299 })).result, [{ operator: 'online' }])
    const refused = /** @type {[unknown[], object][]} */ ([
      [[secret, headers, `${body} `], { now }], [[other, headers, body], { now }], [[secret, headers, body], { now: now + 301 }],
      [[secret, { ...headers, 'webhook-timestamp': '1e9' }, body], { now }], [[secret, {}, body], { now }]
    ])
    for (const [args, options] of refused) assert.equal((await call('verify', args, options)).error?.code, 'unauthorized')
  })

  test('the example of docs/publishers.md runs', async () => {
    const [block] = codeBlocks().filter(({ file, language }) => file === 'docs/publishers.md' && language === 'python')
    const code = block.code.replaceAll('http://localhost:3001', server.apiUrl).replaceAll('minutes', fresh())
    assert.match(await runPython(code), /^\{'epoch': '[^']+', 'offset': 1\} 2 0$/)
  })
})
