import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../../src/base/common/log.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { BLOCKS } from '../../../src/config/blocks.js'
import { readSettings } from '../../../src/config/load.js'
import { allowedOf } from '../../../src/config/setting.js'
import { checkContents } from '../../../src/operate/cli/check/files.js'

const [TOKEN, OTHER] = ['0123456789abcdef', 'fedcba9876543210']
const LISTS = Object.values(BLOCKS)
  .flatMap(({ settings }) => Object.entries(
    /** @type {Record<string, import('../../../src/config/setting.js').Setting>} */ (settings)
  ))
  .filter(([, setting]) => /^list\b/.test(allowedOf(setting).allowed ?? ''))
  .map(([name]) => name)

/** @param {Record<string, string>} env @returns {string[]} */
const problemsOf = (env) => readSettings({ env }).problems

test('production with a space after it is production; a word like it is refused, and not taken for development', () => {
  assert.equal(readSettings({ env: { NODE_ENV: 'production ' } }).config.production, true)
  for (const wrong of ['Production', 'PRODUCTION', 'prod', 'prod ', 'productive'])
    assert.match(problemsOf({ NODE_ENV: wrong }).join(), new RegExp(`^NODE_ENV=${wrong.trim()}: write production;`))
  for (const other of ['development', 'test', 'staging', 'pre-production', ' ']) {
    const { config, problems } = readSettings({ env: { NODE_ENV: other } })
    assert.deepEqual([config.production, problems], [false, []])
  }
})

test('a list that is set and names nothing is a problem: it would turn off the check that it is for', () => {
  for (const name of ['AUTH_JWT_AUDIENCE', 'AUTH_JWT_ISSUER', 'KAFKA_BROKERS', 'REDIS_URL']) assert.ok(LISTS.includes(name), name)
  for (const name of [...LISTS, 'NETWORK']) {
    for (const nothing of [',', ' ', ' , ,'])
      assert.match(problemsOf({ [name]: nothing }).join(), new RegExp(`^${name}(=[ ,]+)?: must be unset, or name something$`))
    assert.deepEqual(problemsOf({ [name]: '' }), [])
  }
})

test('inkcast check goes on without the callers of API_TOKENS, when they cannot be read', async () => {
  const log = createLog({ level: 'silent', pretty: false, role: 'check', clock: systemClock })
  const { config } = readSettings({ env: { API_TOKENS: ',', API_CALLERS_FILE: '/no/callers.json' } })
  assert.deepEqual(await checkContents(config, log), [])
})

test('each broker of Kafka is a host with its port, in the form that kafkajs reads', () => {
  const brokers = (/** @type {string} */ text) => problemsOf({ REDIS_URL: 'redis://redis', KAFKA_BROKERS: text }).join()
  for (const right of ['kafka-1:9092', '10.0.0.1:1, broker_2.example:65535']) assert.equal(brokers(right), '')
  for (const wrong of [
    'kafka-1', 'kafka-1:9092,kafka-2', 'kafka://kafka-1:9092', 'kafka-1:', ':9092', 'kafka-1:0', 'kafka-1:65536', 'kafka-1:x',
    'kafka-1:9092/', '::1:9092', '[::1]:9092'
  ]) assert.match(brokers(wrong), /^KAFKA_BROKERS=.*: each must be host:port, as kafka-1:9092/, wrong)
})

test('a group of the key exchange that this Node.js does not know is a problem of TLS_GROUPS', () => {
  for (const right of ['X25519:P-256', 'P-384', 'prime256v1']) assert.deepEqual(problemsOf({ TLS_GROUPS: right }), [])
  for (const wrong of ['X25518', 'X25519:P-255', 'X25519,P-256'])
    assert.match(problemsOf({ TLS_GROUPS: wrong }).join(), /^TLS_GROUPS=.*: must be .*groups/, wrong)
})

test('two callers with one token are a problem: only the first of them would count', () => {
  assert.deepEqual(problemsOf({ API_TOKENS: `orders:${TOKEN},orders:${OTHER},mail:${TOKEN}` }), [
    'API_TOKENS: orders and mail have the same token; give each its own'
  ])
  assert.deepEqual(problemsOf({ API_TOKENS: `orders:${TOKEN},mail:${OTHER},orders:${TOKEN}` }), [])
})

test('the token of readers differs from the token for changes', () => {
  assert.deepEqual(problemsOf({ ADMIN_TOKEN: TOKEN, ADMIN_READ_TOKEN: TOKEN }), [
    'ADMIN_READ_TOKEN: must differ from ADMIN_TOKEN, or everyone who reads can also change'
  ])
  assert.deepEqual(problemsOf({ ADMIN_TOKEN: TOKEN, ADMIN_READ_TOKEN: OTHER }), [])
})

test('a user or a password for Kafka without a mechanism is a problem: it is not sent', () => {
  const kafka = { KAFKA_BROKERS: 'kafka-1:9092', REDIS_URL: 'redis://redis-1' }
  const [user, password] = [{ KAFKA_SASL_USERNAME: 'a' }, { KAFKA_SASL_PASSWORD: 'b' }]
  for (const given of [user, password, { ...user, ...password }]) {
    assert.deepEqual(problemsOf({ ...kafka, ...given }), [
      'KAFKA_SASL_MECHANISM: without it KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD are not sent'
    ])
    assert.deepEqual(problemsOf(given), [], 'without Kafka')
  }
})
