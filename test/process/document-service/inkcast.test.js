import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { createInkcast } from '../../../examples/document-service/inkcast.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {[status: number, body: unknown][]} answers responses by request; the last one is repeated
 */
async function startApi (t, answers) {
  /** @type {{ url: string | undefined, headers: import('node:http').IncomingHttpHeaders, body: string }[]} */
  const requests = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ url: request.url, headers: request.headers, body })
    const [status, answer] = answers[Math.min(requests.length, answers.length) - 1]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stopping = new AbortController()
  t.after(() => {
    stopping.abort(new Error('the service stops'))
    server.closeAllConnections()
    server.close()
  })
  /** @type {string[]} */
  const errors = []
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const inkcast = createInkcast({
    url: `http://127.0.0.1:${port}`,
    token: 'secret',
    signal: stopping.signal,
    log: { info () {}, error: (message) => { errors.push(message) } }
  })
  return { ...inkcast, requests, errors, stopping }
}

const outgoing = {
  to: { guid: 'a/b' },
  event: 'sheet:changes',
  value: { changes: [] },
  key: 'key-1',
  traceId: 'trace',
  timestamp: 1000
}
const refusal = (/** @type {string} */ code, /** @type {boolean} */ retryable) => ({
  ok: false,
  error: { code, message: code, retryable }
})

test('a publication is retried with the same key until it succeeds', async (t) => {
  const { publish, requests, errors } = await startApi(t, [
    [503, refusal('unavailable', true)],
    [502, 'no JSON of inkcast'],
    [409, refusal('request_in_progress', true)],
    [401, refusal('unauthorized', false)],
    [202, { ok: true }]
  ])
  await publish(outgoing)
  assert.equal(requests.length, 5)
  for (const { url, headers, body } of requests) {
    assert.equal(url, '/v1/documents/a%2Fb/broadcast')
    assert.deepEqual(
      [
        headers['idempotency-key'],
        headers['x-event'],
        headers['x-trace-id'],
        headers['x-timestamp'],
        headers.authorization,
        body
      ],
      ['key-1', 'sheet:changes', 'trace', '1000', 'Bearer secret', '{"changes":[]}']
    )
  }
  assert.equal(errors.length, 4)
})

test('a publication for one connection uses its address', async (t) => {
  const { publish, requests } = await startApi(t, [[202, { ok: true }]])
  await publish({ ...outgoing, to: { sid: 'abc' } })
  assert.equal(requests[0].url, '/v1/sockets/abc/send')
})

test('a permanent refusal is not retried, and reported', async (t) => {
  const { publish, requests, errors } = await startApi(t, [[413, refusal('value_too_large', false)]])
  await publish(outgoing)
  assert.deepEqual([requests.length, errors], [1, ['publishing sheet:changes: value_too_large, given up']])
})

test('a stop ends the retries', async (t) => {
  const { publish, requests, stopping } = await startApi(t, [[503, refusal('unavailable', true)]])
  const publishing = assert.rejects(publish(outgoing), /stops|aborted/)
  await waitFor(() => requests.length > 0)
  stopping.abort(new Error('the service stops'))
  await publishing
})

test('the position of a document without a log is null', async (t) => {
  const { position } = await startApi(t, [
    [200, { ok: true, position: { epoch: 'e', offset: 3 } }],
    [200, { ok: true, position: null }],
    [503, refusal('unavailable', true)]
  ])
  assert.deepEqual(await position('plan'), { epoch: 'e', offset: 3 })
  assert.equal(await position('plan'), null)
  await assert.rejects(position('plan'), /unavailable/)
})
