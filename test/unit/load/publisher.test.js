import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { test } from 'node:test'
import { planOf } from '../../../packages/load/plan.js'
import { Publisher } from '../../../packages/load/publisher.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {(tries: number) => number} statusOf of the tries with one idempotency key, from 1
 */
async function startApi (t, statusOf) {
  /** @type {Map<string, number>} */
  const tries = new Map()
  const server = http.createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    tries.set(key, (tries.get(key) ?? 0) + 1)
    request.resume()
    request.on('end', () => response.writeHead(statusOf(tries.get(key) ?? 0)).end('{"code":"any"}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}`, tries }
}

const plan = planOf('hold', { documents: 4, records: 20 })
const ignore = async () => {}

test('a request that is in progress is repeated, with the same idempotency key', async (t) => {
  const { url, tries } = await startApi(t, (count) => count === 1 ? 409 : 202)
  const publisher = new Publisher({ url, token: undefined, run: 'r', plan }, ignore)
  publisher.start(assert.fail)
  await waitFor(() => publisher.published.documents >= 4)
  await publisher.stop()
  assert.deepEqual(publisher.failures, {})
  assert.equal(publisher.published.documents, tries.size)
  assert.deepEqual(new Set(tries.values()), new Set([2]))
})

test('an answer that no repetition changes is a failure at once; others after the given number of tries', async (t) => {
  for (const [status, count] of [[400, 1], [503, 2]]) {
    const { url, tries } = await startApi(t, () => status)
    const publisher = new Publisher({ url, token: undefined, run: 'r', plan, tries: 2 }, ignore)
    publisher.start(assert.fail)
    await waitFor(() => Object.keys(publisher.failures).length > 0)
    await publisher.stop()
    assert.equal(publisher.failures[`${status} any`], tries.size)
    assert.deepEqual(new Set(tries.values()), new Set([count]))
    assert.deepEqual(publisher.ends, [0, 0, 0, 0])
  }
})

test('every second record goes another way, if there is one, and counts if it was accepted', async (t) => {
  const { url, tries } = await startApi(t, () => 202)
  /** @type {string[]} */
  const produced = []
  const publisher = new Publisher({
    url, token: undefined, run: 'r', plan,
    produce: async (guid) => produced.push(guid) !== 1
  }, ignore)
  publisher.start(assert.fail)
  await waitFor(() => produced.length >= 5 && tries.size >= 5)
  await publisher.stop()
  assert.deepEqual(produced.slice(0, 4), ['load-r-1', 'load-r-3', 'load-r-1', 'load-r-3'])
  assert.deepEqual(publisher.failures, { 'not produced': 1 })
  assert.equal(publisher.ends[1] + publisher.ends[3], produced.length - 1)
  assert.equal(publisher.ends[0] + publisher.ends[2], tries.size)
})
