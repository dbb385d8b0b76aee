import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startApi } from '../../helpers/api.js'
import { callersFile } from '../../helpers/callers-file.js'
import { startCertificate } from '../../helpers/certificates.js'

const FOLDER = new URL('../../helpers/tls/', import.meta.url)
const path = (/** @type {string} */ name) => fileURLToPath(new URL(name, FOLDER))
const TLS = { cert: path('cert.pem'), key: path('key.pem') }

const CALLERS = {
  callers: [
    {
      name: 'editor',
      certificates: [{ subject: { O: 'Example', CN: 'editor' } }],
      operators: ['broadcast'],
      guids: ['notes/*']
    },
    { name: 'billing', certificates: [{ san: 'URI:spiffe://example.org/ns/docs/sa/billing' }], operators: ['*'] },
    { name: 'script', tokens: [{ text: 'script-0123456789' }], operators: ['*'] }
  ]
}

/**
 * @param {string} url
 * @param {string} guid
 * @param {object} [options]
 * @param {string} [options.as] name of the client certificate
 * @param {string} [options.token]
 * @param {Agent} [options.agent]
 * @returns {Promise<string>} `status code`
 */
function broadcast (url, guid, { as, token, agent } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/documents/${encodeURIComponent(guid)}/broadcast`, {
      method: 'POST',
      ca: readFileSync(path('cert.pem')),
      ...(as === undefined
        ? {}
        : { cert: readFileSync(path(`clients/${as}.pem`)), key: readFileSync(path(`clients/${as}-key.pem`)) }),
      headers: {
        'content-type': 'application/json',
        'x-source': 'forged',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
      },
      agent: agent ?? new Agent({ keepAlive: false, maxCachedSessions: 0 })
    }, async (response) => {
      const body = JSON.parse((await response.toArray()).join(''))
      resolve(`${response.statusCode} ${body.error?.code ?? 'ok'}`)
    })
    sent.on('error', reject)
    sent.end('1')
  })
}

/** @param {import('node:test').TestContext} t @param {object} [more] settings */
const start = async (t, more = { ca: path('clients/ca.pem') }) =>
  startApi(t, {
    callersFile: callersFile(t, CALLERS).path,
    certificate: (await startCertificate(t, { ...TLS, ...more })).certificate
  })

test('a client certificate names its caller, by subject or by alternative name', async (t) => {
  const { url, published } = await start(t)
  assert.equal(await broadcast(url, 'notes/1', { as: 'editor' }), '202 ok')
  assert.equal(await broadcast(url, 'minutes', { as: 'editor' }), '403 forbidden')
  assert.equal(await broadcast(url, 'minutes', { as: 'workload' }), '202 ok')
  assert.deepEqual(published.map(({ source }) => source), ['editor', 'billing'])
})

test('certificates of another authority, expired ones, those of no caller, and none are refused', async (t) => {
  const { url, published } = await start(t)
  for (const as of ['stranger', 'expired', 'unnamed', undefined])
    assert.equal(await broadcast(url, 'notes/1', { as }), '401 unauthorized', as)
  assert.equal(published.length, 0)
})

test('a token decides before a certificate, and works without one', async (t) => {
  const { url, published } = await start(t)
  for (const as of ['editor', 'stranger', undefined])
    assert.equal(await broadcast(url, 'minutes', { as, token: 'script-0123456789' }), '202 ok', as)
  assert.equal(await broadcast(url, 'notes/1', { as: 'editor', token: 'wrong-0123456789' }), '401 unauthorized')
  assert.deepEqual(published.map(({ source }) => source), ['script', 'script', 'script'])
})

test('a resumed TLS session has the certificate of its first connection', async (t) => {
  const { url } = await start(t)
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 10 })
  for (let i = 0; i < 3; i++) assert.equal(await broadcast(url, 'notes/1', { as: 'editor', agent }), '202 ok')
  for (let i = 0; i < 2; i++) assert.equal(await broadcast(url, 'notes/1', { as: 'stranger', agent }), '401 unauthorized')
})

test('without a ca no certificate is asked for', async (t) => {
  const { url } = await start(t, {})
  assert.equal(await broadcast(url, 'notes/1', { as: 'editor' }), '401 unauthorized')
  assert.equal(await broadcast(url, 'notes/1', { token: 'script-0123456789' }), '202 ok')
})
