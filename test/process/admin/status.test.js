import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdminServer } from '../../../src/operate/admin/server.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const TOKEN = 'control-0123456789'
const READ = 'reading-0123456789'

/** @param {import('node:test').TestContext} t @param {object} [settings] */
async function startAdmin (t, settings = {}) {
  const server = new AdminServer({
    settings: { host: '127.0.0.1', port: 0, ...settings },
    production: true,
    processes: {
      read: async () => ({ processes: [{ id: 'a', name: 'api-0', notReady: ['starting'], metrics: [] }], reasons: ['api: 0 of 1 ready'] })
    },
    clock: systemClock,
    log: recordingLog().log
  })
  await server.start()
  t.after(() => server.stop())
  return (/** @type {string} */ path, /** @type {RequestInit} */ init = {}) =>
    fetch(`http://127.0.0.1:${server.port()}${path}`, init)
}

const bearing = (/** @type {string} */ token) => ({ headers: { authorization: `Bearer ${token}` } })

test('/status has the figures, and only those after a time if that is asked for', async (t) => {
  const ask = await startAdmin(t)
  const answer = await ask('/status')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const body = /** @type {any} */ (await answer.json())
  assert.deepEqual(body.reasons, ['api: 0 of 1 ready'])
  assert.equal(body.ready, false)
  assert.equal(body.processes[0].name, 'api-0')
  assert.deepEqual(body.processes[0].notReady, ['starting'])
  assert.equal(body.samples.length, 1)
  const later = /** @type {any} */ (await (await ask(`/status?after=${body.samples[0].at}`)).json())
  assert.deepEqual(later.samples, [])
})

test('/status needs the right to read, the page and what scrapers use do not', async (t) => {
  const ask = await startAdmin(t, { token: TOKEN, readToken: READ })
  const refused = await ask('/status')
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  assert.equal(/** @type {any} */ (await refused.json()).error.code, 'unauthorized')
  assert.deepEqual(
    [await (await ask('/access')).json(), await (await ask('/access', bearing(READ))).json()],
    [{ read: false, message: 'needs ADMIN_TOKEN (Authorization: Bearer <token>)' }, { read: true }]
  )
  assert.equal((await ask('/status', bearing(READ))).status, 200)
  assert.equal((await ask('/status', bearing(TOKEN))).status, 200)
  for (const path of ['/', '/metrics', '/live', '/js/main.js', '/vendor/uPlot.esm.js', '/docs/status.md'])
    assert.equal((await ask(path)).status, 200, path)
})

test('the page is served under a strict policy, and nothing outside of it', async (t) => {
  const ask = await startAdmin(t)
  const page = await ask('/')
  assert.match(await page.text(), /<title>inkcast status/)
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'/)
  for (const path of [
    '/../server.js', '/%2e%2e/server.js', '/vendor/uPlot.cjs.js', '/vendor/../package.json', '/vendor/%2e%2e/package.json',
    '/docs/../package.json', '/docs/%2e%2e%2fpackage.json', '/docs/no-such-page.md', '/docs/internals/decisions/0001.md', '/nothing'
  ]) assert.equal((await ask(path)).status, 404, path)
  assert.equal((await ask('/', { method: 'POST' })).status, 405)
})

test('docs are pages with the anchors that the status page links to', async (t) => {
  const ask = await startAdmin(t)
  const page = await (await ask('/docs/status.md')).text()
  const sources = await Promise.all(['/js/views.js', '/js/main.js'].map(async (path) => (await ask(path)).text()))
  const anchors = new Set(sources.flatMap((source) =>
    [...source.matchAll(/help: (?:[^'\n]*\? )?'([a-z-]+)'|status\.md#([a-z-]+)/g)].map(([, one, other]) => one ?? other)
  ))
  assert.ok(anchors.size >= 10, [...anchors].join())
  assert.match(page, /<a href="metrics.md">/)
  assert.doesNotMatch(page, /href="(?:\.\.|decisions)/, 'nothing that is not served')
  for (const anchor of anchors) assert.ok(page.includes(`id="${anchor}"`), anchor)
})
