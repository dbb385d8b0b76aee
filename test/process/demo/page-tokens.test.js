import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { createPageTokens } from '../../../packages/demo/page-tokens.js'
import * as parts from '../../../src/operate/roles/demo-parts.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { SECRET } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const scope = fileScope()
const inkcast = await startEmbedded(scope, {
  AUTH_JWT_SECRET: SECRET, AUTH_JWT_ISSUER: 'https://issuer.example.com', AUTH_JWT_AUDIENCE: 'live'
})
const PATH = '/token?document=demo&user=ada'

/**
 * @param {string} path
 * @param {Record<string, string>} [headers] `host` as well, which `fetch` does not send
 * @param {string} [url]
 * @returns {Promise<{ status: number | undefined, headers: http.IncomingHttpHeaders, body: string }>}
 */
const get = (path, headers = {}, url = inkcast.url) => new Promise((resolve, reject) => {
  http.get(`${url}${path}`, { headers, agent: false }, async (res) => {
    let body = ''
    for await (const chunk of res.setEncoding('utf8')) body += chunk
    resolve({ status: res.statusCode, headers: res.headers, body })
  }).on('error', reject)
})

test('a page of this machine gets a token for its document and its person, which no cache keeps', async (t) => {
  const { status, headers, body } = await get(PATH, { 'sec-fetch-site': 'same-origin' })
  assert.deepEqual([status, headers['cache-control']], [200, 'no-store'])
  const { token } = JSON.parse(body)
  const { sub, iss, aud, documents, iat, exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
  assert.deepEqual({ sub, iss, aud, documents, lifetime: exp - iat }, {
    sub: 'demo:ada', iss: 'https://issuer.example.com', aud: 'live', documents: [{ guid: 'demo', access: 'write' }],
    lifetime: 300
  })
  const client = await connectClient(t, inkcast.url, { auth: { token } })
  assert.equal((await client.ask('doc:join', { guid: 'demo' })).ok, true)
  assert.equal((await client.ask('doc:join', { guid: 'another' })).ok, false)
})

/** Requests that are not of a page that this machine serves to itself. @type {Record<string, string>[]} */
const STRANGE = [
  ...['evil.example', 'evil.example:3000', 'localhost.evil.example', '192.168.1.2:3000', '[fe80::1]:3000', '0.0.0.0:3000']
    .map((host) => ({ host })),
  ...['cross-site', 'same-site'].map((site) => ({ 'sec-fetch-site': site })),
  ...['https://evil.example', 'null', 'http://localhost:5173'].map((origin) => ({ origin })),
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip']
    .map((name) => ({ [name]: '127.0.0.1' }))
]
test(`${STRANGE.length} kinds of requests from elsewhere get no token`, async () => {
  for (const headers of STRANGE) {
    const { body } = await get(PATH, headers)
    assert.equal(body, '{"token":null}', JSON.stringify(headers))
  }
})

test('a token opens one document, and belongs to one person', async () => {
  const names = ['*', 'plan-*', '', 'a'.repeat(300), '\u0000']
  for (const name of names)
    assert.equal((await get(`/token?${new URLSearchParams({ document: name, user: 'ada' })}`)).body, '{"token":null}', name)
  for (const user of ['', 'a'.repeat(65), '\n'])
    assert.equal((await get(`/token?${new URLSearchParams({ document: 'demo', user })}`)).body, '{"token":null}', user)
})

test('nothing is signed without a secret, nor where no token is needed', () => {
  const req = /** @type {any} */ ({ url: PATH, headers: { host: 'localhost' }, socket: { remoteAddress: '127.0.0.1' } })
  const settings = { allowAnonymous: false, secret: SECRET, issuers: [], audiences: [] }
  assert.notEqual(createPageTokens(parts, settings).answer(req).token, null)
  assert.equal(createPageTokens(parts, { ...settings, allowAnonymous: true }).answer(req).token, null)
  assert.equal(createPageTokens(parts, { ...settings, secret: undefined }).answer(req).token, null)
  const remote = { ...req, socket: { remoteAddress: '192.168.1.2' } }
  assert.equal(createPageTokens(parts, settings).answer(remote).token, null)
})

test('guests of the crowd have tokens, and there is no crowd where nothing can sign them', async (t) => {
  const press = (/** @type {string} */ url, /** @type {string} */ document, method = 'POST') => fetch(`${url}/control/crowd`, {
    method, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ document, guests: 8 })
  })
  assert.equal((await press(inkcast.url, 'crowded')).status, 202)
  t.after(() => press(inkcast.url, 'crowded', 'DELETE'))
  await waitFor(async () => JSON.parse((await get('/control/state')).body).crowd.connected === 8, { message: 'a crowd of 8' })
  await press(inkcast.url, 'crowded', 'DELETE')
  await waitFor(async () => !JSON.parse((await get('/control/state')).body).crowd.running, { message: 'the crowd to leave' })
  assert.equal((await press(inkcast.url, 'crowd*')).status, 403)
  const closed = await startEmbedded(t, { AUTH_ALLOW_ANONYMOUS: 'false', AUTH_JWKS_URL: `${inkcast.apiUrl}/keys` })
  assert.equal((await press(closed.url, 'crowded')).status, 403)
})

test('production has neither the page nor its tokens', async (t) => {
  const production = await startEmbedded(t, {
    NODE_ENV: 'production', AUTH_JWT_SECRET: SECRET, API_TOKENS: `orders:${'b'.repeat(32)}`
  })
  for (const path of [PATH, '/token', '/']) {
    const { status, body } = await get(path, { 'sec-fetch-site': 'same-origin' }, production.url)
    assert.equal(status, 404, path)
    assert.doesNotMatch(body, /eyJ/)
  }
})
