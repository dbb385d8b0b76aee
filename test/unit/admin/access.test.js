import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdminAccess } from '../../../src/operate/admin/access.js'

const TOKEN = 'a-token-for-everything'
const READ = 'a-token-that-only-reads'

const FORWARDED = [
  'Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Port', 'X-Forwarded-Server',
  'X-Real-IP', 'X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'Via'
]

/**
 * @param {object} settings
 * @param {'read' | 'control'} right
 * @param {{ address?: string, headers?: object, production?: boolean }} [request]
 * @returns {string} `ok`, or the code of the refusal
 */
function ask (settings, right, { address = '127.0.0.1', headers = {}, production = false } = {}) {
  const req = /** @type {any} */ ({ socket: { remoteAddress: address }, headers: { host: 'localhost:9100', ...headers } })
  try {
    createAdminAccess(settings, production)(req, right)
    return 'ok'
  } catch (error) {
    return /** @type {any} */ (error).code
  }
}

const bearer = (/** @type {string} */ token) => ({ headers: { authorization: `Bearer ${token}` } })

test('without a token only this machine has rights, and no proxy or rebound name on it', () => {
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) assert.equal(ask({}, 'control', { address }), 'ok')
  assert.equal(ask({}, 'read', { address: '10.0.0.1' }), 'forbidden')
  for (const headers of [{ 'x-forwarded-for': '10.0.0.1' }, { forwarded: 'for=10.0.0.1' }, { host: 'evil.example' }])
    assert.equal(ask({}, 'read', { headers }), 'forbidden')
})

test('a request of a proxy on this machine is not local, by any of its headers or by Host', () => {
  for (const right of /** @type {const} */ (['read', 'control'])) {
    for (const name of FORWARDED)
      for (const value of ['', '127.0.0.1', '203.0.113.5'])
        assert.equal(ask({}, right, { headers: { [name.toLowerCase()]: value } }), 'forbidden', name)
    for (const host of ['example.com', '10.0.0.1:9100', 'localhost.example.com', '127.0.0.1.nip.io', ''])
      assert.equal(ask({}, right, { headers: { host } }), 'forbidden', host)
  }
})

test('in production changes need ADMIN_TOKEN, also from this machine', () => {
  assert.equal(ask({}, 'control', { production: true }), 'forbidden')
  assert.equal(ask({ readToken: READ }, 'control', { production: true }), 'forbidden')
  assert.equal(ask({}, 'read', { production: true }), 'ok')
  assert.equal(ask({ token: TOKEN }, 'control', { production: true, ...bearer(TOKEN) }), 'ok')
})

test('pages of other sites have no rights in a browser on this machine', () => {
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
    assert.equal(ask({}, 'control', { headers }), 'forbidden')
  for (const headers of [{ origin: 'http://localhost:9100' }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])
    assert.equal(ask({}, 'read', { headers }), 'ok')
})

test('with ADMIN_TOKEN every request needs it, and one of ADMIN_READ_TOKEN only reads', () => {
  const settings = { token: TOKEN, readToken: READ }
  assert.equal(ask(settings, 'read'), 'unauthorized')
  assert.equal(ask(settings, 'control', bearer(TOKEN)), 'ok')
  assert.equal(ask(settings, 'control', { address: '10.0.0.1', ...bearer(TOKEN) }), 'ok')
  assert.equal(ask(settings, 'control', bearer(READ)), 'forbidden')
  assert.equal(ask(settings, 'read', { address: '10.0.0.1', ...bearer(READ) }), 'ok')
  assert.equal(ask(settings, 'read', bearer('another')), 'unauthorized')
})

test('a wrong token is refused even where none is needed', () => {
  assert.equal(ask({}, 'read', bearer('wrong')), 'unauthorized')
})
