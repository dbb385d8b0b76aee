import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { fetchJson } from '../../../src/base/common/fetch-json.js'
import { collectGarbage } from '../../helpers/collect-garbage.js'
import { httpService } from '../../helpers/http-service.js'
import { waitFor } from '../../helpers/wait.js'

const bounds = { timeout: 5000, maxBytes: 100, signal: new AbortController().signal, clock: systemClock }

test('request and response are JSON', async (t) => {
  const { url, bodies } = await httpService(t, ({ method }) => ({ body: JSON.stringify({ method }) }))
  assert.deepEqual(await fetchJson(url, { ...bounds, post: { a: 1 }, clock: systemClock }), { method: 'POST' })
  assert.deepEqual(await fetchJson(url, bounds), { method: 'GET' })
  assert.deepEqual(bodies, ['{"a":1}', ''])
})

test('a response that is late, too long, redirected, not 200 or not JSON is an error', async (t) => {
  let answer = { status: 200, body: '{}', headers: /** @type {Record<string, string>} */ ({}) }
  let wait = Promise.resolve()
  const { url } = await httpService(t, async ({ url }) => {
    await wait
    return url === '/elsewhere' ? { body: '{}' } : answer
  })
  const ask = (/** @type {object} */ more = {}) => fetchJson(url, { ...bounds, ...more, clock: systemClock })

  answer = { ...answer, body: JSON.stringify('x'.repeat(98)) }
  assert.equal(await ask(), 'x'.repeat(98))
  answer = { ...answer, body: JSON.stringify('x'.repeat(99)) }
  await assert.rejects(ask(), /longer than 100 bytes/)
  answer = { ...answer, body: 'x' }
  await assert.rejects(ask(), SyntaxError)
  for (const status of [201, 204, 403, 500]) {
    answer = { ...answer, status, body: '' }
    await assert.rejects(ask(), new RegExp(`HTTP status ${status}`))
  }
  answer = { status: 302, body: '', headers: { location: '/elsewhere' } }
  await assert.rejects(ask(), /fetch failed/)
  wait = new Promise(() => {})
  await assert.rejects(ask({ timeout: 50 }), { name: 'TimeoutError' })
  await assert.rejects(ask({ signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
})

test('a service that never answers is late, also after a garbage collection', { timeout: 20_000 }, async (t) => {
  const service = await httpService(t, () => new Promise(() => {}))
  const answer = assert.rejects(fetchJson(service.url, { ...bounds, timeout: 1000, clock: systemClock }), { name: 'TimeoutError' })
  await waitFor(() => service.requests === 1)
  collectGarbage()
  await answer
})
