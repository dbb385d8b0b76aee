import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'
import { AllowedOrigins } from '../../../src/transport/admission/allowed-origins.js'

/** @param {string} text ALLOWED_ORIGINS */
const allowedBy = (text) => new AllowedOrigins(loadConfig({ env: { ALLOWED_ORIGINS: text } }).gateway.allowedOrigins)

const SCHEMES = ['https', 'http', 'wss', 'capacitor']
const USERS = ['', 'a:b@', 'app.example.com@', '%40']
const NAMES = [
  '', 'a.', 'a.b.', 'x-1.y_2.', 'xn--bcher-kva.', '.', 'a..', '.a.', 'evil-', 'evil', '*.', '*', 'a*.', 'A.', 'evil.test/', 'evil.test/.',
  'evil.test?', 'evil.test#.', 'evil.test:80.', 'evil.test\\.', 'evil.test,https://a.', 'evil.test https://a.', '%61.', 'ä.', 'a\n.', 'a\t.',
  '[::1].', '127.0.0.1.', 'null.', 'example.com.', 'a.example.com.evil.'
]
const DOMAINS = ['example.com', 'EXAMPLE.com', 'example.com.', 'example.com.evil', 'example.co', 'example.comm', 'com',
  'xexample.com', 'example-com']
const ENDS = ['', ':443', ':80', ':8443', ':', ':0', ':*', '/', '/a', '?', '#', '@evil.test', '.evil.test', ' ', '\n', ',https://evil.test']

/**
 * Another way than the one under test: what a browser would make of it.
 * @param {string} origin
 * @returns {string | undefined} scheme and port; undefined: not below example.com, or not as a browser writes it
 */
function below (origin) {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) return undefined
  const { protocol, hostname, port } = new URL(origin)
  const labels = hostname.split('.')
  const isBelow = labels.length > 2 && labels.slice(-2).join('.') === 'example.com' && labels.every((label) => /^[\w-]+$/.test(label))
  return isBelow ? protocol + port : undefined
}

function* origins () {
  for (const scheme of SCHEMES)
    for (const user of USERS)
      for (const name of NAMES)
        for (const domain of DOMAINS)
          for (const end of ENDS) yield `${scheme}://${user}${name}${domain}${end}`
}

test('a pattern matches the names below its domain, and nothing that only looks like one', () => {
  const patterns = [
    ['https://*.example.com', 'https:'],
    ['HTTPS://*.Example.COM:443/', 'https:'],
    ['https://%2a.example.com', 'https:'],
    ['https://*.example.com:8443', 'https:8443'],
    ['http://*.example.com', 'http:']
  ].map(([pattern, meant]) => ({ pattern, meant, allowed: allowedBy(`https://other.example,${pattern}`), matched: 0 }))
  let cases = 0
  for (const origin of origins()) {
    const place = below(origin)
    for (const pattern of patterns) {
      if (pattern.allowed.has(origin) !== (place === pattern.meant)) assert.fail(`${pattern.pattern}: ${JSON.stringify(origin)}`)
      if (place === pattern.meant) pattern.matched++
    }
    cases++
  }
  assert.equal(cases, 71_424)
  assert.ok(patterns.every(({ matched }) => matched >= 5), patterns.map(({ matched }) => matched).join())
})

test('the bare domain, other schemes, ports and users, and odd texts are none of a pattern', () => {
  const allowed = allowedBy('https://*.example.com')
  assert.equal(allowed.has('https://a.example.com'), true)
  assert.equal(allowed.has('https://c.b.a.example.com'), true)
  for (const origin of [
    'https://example.com', 'http://a.example.com', 'https://a.example.com:8443', 'https://evil-example.com', 'https://x@a.example.com',
    'https://*.example.com', 'https://.example.com', 'https://a.example.com.', 'https://a.example.com.evil.test', 'null', '*', '',
    'https://evil.test/.example.com', `https://${'a.'.repeat(100_000)}@.example.com`
  ]) assert.equal(allowed.has(origin), false, origin.slice(0, 100))
  assert.equal(allowedBy('https://*.example.com,https://example.com').has('https://example.com'), true)
})
