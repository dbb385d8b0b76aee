import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os, { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BLOCKS } from '../../../src/config/blocks.js'
import { GONE } from '../../../src/config/gone.js'
import { ConfigError, loadConfig, needsStore, processesOf } from '../../../src/config/load.js'

const SECRET = 'a secret of at least 32 characters'
const PRODUCTION = {
  NODE_ENV: 'production', REDIS_URL: 'redis://redis', AUTH_JWT_SECRET: SECRET, API_TOKENS: 'editor:0123456789abcdef'
}

/**
 * @param {Record<string, string>} env
 * @param {string} [file]
 * @returns {string[]}
 */
function problemsOf (env, file) {
  try {
    loadConfig({ env, file })
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    for (const problem of error.problems) assert.ok(error.message.includes(problem))
    return error.problems
  }
}

/** @param {import('node:test').TestContext} t @param {string} text @returns {string} path */
function fileWith (t, text) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'settings')
  writeFileSync(file, text)
  return file
}

test('without settings it is a cluster with a store of its own, for this machine, and without authentication', () => {
  const config = loadConfig({ env: {} })
  assert.deepEqual(
    [config.mode, config.production, config.auth.allowAnonymous, config.api.tokens],
    ['redis', false, true, []]
  )
  assert.deepEqual(
    [config.gateway.host, config.gateway.port, config.gateway.workers],
    ['127.0.0.1', 3000, Math.min(Math.max(os.availableParallelism(), 2), 4)]
  )
  assert.deepEqual(
    [config.api.host, config.api.port, config.api.grpcPort, config.admin.port],
    ['127.0.0.1', 3001, undefined, 9100]
  )
  assert.deepEqual(
    [config.kafka.groupId, config.kafka.topics],
    ['inkcast', { downlink: 'documents.downlink', uplink: 'documents.uplink', deadLetter: 'documents.dead-letter' }]
  )
  assert.deepEqual(config.history, { size: 1000, ttl: 600 })
})

test('the mode follows from the services', () => {
  const alone = loadConfig({ env: { REDIS_URL: 'redis://localhost:6379' } })
  assert.deepEqual([alone.mode, needsStore(alone), alone.gateway.workers], ['redis', false, os.availableParallelism()])
  const own = loadConfig({ env: { WORKERS: '3' } })
  assert.deepEqual([own.mode, needsStore(own), processesOf(own)], ['redis', true, { store: 1, gateway: 3, ingest: 0, api: 1 }])
  assert.equal(loadConfig({ env: { WORKERS: '1' } }).mode, 'embedded')
})

test('with Redis there is a worker for each core, also if its URL is in a file; with the built-in store a few', (t) => {
  for (const [cores, few] of [[1, 2], [3, 3], [16, 4]]) {
    t.mock.method(os, 'availableParallelism', () => cores)
    const workers = (/** @type {Record<string, string>} */ env) => loadConfig({ env }).gateway.workers
    assert.equal(workers({}), few)
    assert.equal(workers({ REDIS_URL: 'redis://redis' }), cores)
    assert.equal(workers({ REDIS_URL_FILE: fileWith(t, 'redis://redis\n') }), cores)
  }
  const config = loadConfig({ env: { REDIS_URL: 'redis://a:1, rediss://b:2,', KAFKA_BROKERS: 'a:9092,b:9092' } })
  assert.deepEqual(
    [config.mode, config.redis.urls, config.kafka.brokers],
    ['kafka', ['redis://a:1', 'rediss://b:2'], ['a:9092', 'b:9092']]
  )
})

test('all problems are reported at once, each with the name of its setting', () => {
  const problems = problemsOf({
    PORT: '65536',
    API_PORT: 'x',
    WORKERS: '0',
    HISTORY_SIZE: '1.5',
    NETWORK: '9000:8000:5000',
    KAFKA_SSL: 'yes',
    LOG_LEVEL: 'loud',
    KAFKA_BROKERS: 'a:9092',
    KAFKA_SASL_MECHANISM: 'plain',
    PUBLISH_WAIT: 'fsync',
    TLS_FILES: 'cert:cert.pem',
    AUTH_JWKS_URL: 'ftp://issuer',
    API_TOKENS: 'short:token'
  })
  for (const expected of [
    'PORT=65536: must be at most 65535',
    'API_PORT=x: must be a whole number',
    'WORKERS=0: must be at least 1',
    'HISTORY_SIZE=1.5: must be a whole number',
    /^NETWORK=9000:8000:5000: must be internet, lan, mobile or min:max:timeout/,
    /^KAFKA_SSL=yes: must be true, false, ca:<path> or /,
    /^LOG_LEVEL=loud: must be one of fatal, /,
    /^KAFKA_BROKERS: needs REDIS_URL/,
    /^PUBLISH_WAIT=fsync: needs REDIS_URL/,
    /^KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and/,
    'TLS_FILES=cert:cert.pem: must be cert:<path>,key:<path>',
    'AUTH_JWKS_URL=ftp://issuer: must be a URL that starts with https:// or http:// or file://',
    /^API_TOKENS: each must be name:token/
  ])
    assert.ok(
      problems.some((problem) => (typeof expected === 'string' ? problem === expected : expected.test(problem))),
      `${expected} in ${problems.join('\n')}`
    )
  assert.equal(problems.length, 13)
})

test('the network of the clients sets the heartbeat, by its name or by its figures; anything else is a problem', () => {
  const networkOf = (/** @type {string} */ text) => {
    const { tiers, ...figures } = loadConfig({ env: { NETWORK: text } }).heartbeat.network
    assert.deepEqual(tiers, [])
    return figures
  }
  assert.deepEqual(networkOf('lan'), { min: 2000, max: 8000, timeout: 4000 })
  assert.deepEqual(networkOf('mobile'), { min: 15_000, max: 45_000, timeout: 30_000 })
  assert.deepEqual(networkOf('1000:600000:5000'), { min: 1000, max: 600_000, timeout: 5000 })
  assert.deepEqual(networkOf(''), networkOf('internet'))
  for (const wrong of [
    'satellite', 'toString', '1000', '1000:2000', '1000:2000:3000:4000', '999:2000:3000', '1000:2000:999', '3000:2000:3000',
    '1000:600001:3000', '1s:2s:3s', '1000::3000', '-1000:2000:3000'
  ])
    assert.match(problemsOf({ NETWORK: wrong }).join(), /^NETWORK=[^ ]+: must be internet, lan, mobile or min:max:timeout,/)
})

test('heartbeat tiers are read, and none exceeds the advertised interval', () => {
  const network = '5000:25000:20000'
  assert.deepEqual(
    loadConfig({ env: { NETWORK: `${network},editors:1000:5000:5000, readers:25000:25000:20000` } }).heartbeat.network.tiers,
    [
      { name: 'editors', min: 1000, max: 5000, timeout: 5000 },
      { name: 'readers', min: 25_000, max: 25_000, timeout: 20_000 }
    ]
  )
  assert.deepEqual(loadConfig({ env: { NETWORK: 'lan' } }).heartbeat.network.tiers, [])
  for (const tier of [
    'editors', 'editors:1:2', 'editors:1000:2000:3000:4000', 'editors:1s:2s:3s', ':1000:2000:3000',
    `${'x'.repeat(65)}:1000:2000:3000`, '1000:5000:5000', 'lan', 'a:999:5000:5000', 'a:6000:5000:5000', 'a:1000:5000:999'
  ])
    assert.match(problemsOf({ NETWORK: `${network},${tier}` }).join(), /: after the first, each entry must be name:min:max:timeout,/)
  for (const tier of ['a:1000:25001:5000', 'a:1000:5000:20001'])
    assert.match(problemsOf({ NETWORK: `${network},${tier}` }).join(), /: max and timeout of a tier must not exceed/)
  assert.match(problemsOf({ NETWORK: 'a:1000:5000:5000' }).join(), /^NETWORK=.*: must be internet, lan, mobile or/)
  assert.match(problemsOf({ NETWORK: 'lan,a:1000:5000:4000,a:1000:6000:4000' }).join(), /: a tier is there twice$/)
})

test('a topic without a name keeps its default; a wrong name, and a name for two topics are problems', () => {
  const topicsOf = (/** @type {string} */ text) => loadConfig({ env: { KAFKA_TOPICS: text } }).kafka.topics
  const names = { downlink: 'documents.downlink', uplink: 'documents.uplink', deadLetter: 'documents.dead-letter' }
  assert.deepEqual(topicsOf('uplink:b'), { ...names, uplink: 'b' })
  assert.deepEqual(topicsOf('dead-letter:c_1, uplink:b.B-2,downlink:a'), { downlink: 'a', uplink: 'b.B-2', deadLetter: 'c_1' })
  for (const wrong of ['a', 'uplink', 'uplink:', 'uplink:a:b', 'up:a', 'uplink:a b', 'deadLetter:a', `uplink:${'x'.repeat(250)}`])
    assert.match(problemsOf({ KAFKA_TOPICS: wrong }).join(), /^KAFKA_TOPICS=.*: each must be downlink:<name>,/)
  assert.deepEqual(problemsOf({ KAFKA_TOPICS: 'uplink:a,uplink:b' }), ['KAFKA_TOPICS=uplink:a,uplink:b: a topic is there twice'])
  for (const same of ['uplink:a,downlink:a', 'uplink:documents.downlink'])
    assert.match(problemsOf({ KAFKA_TOPICS: same }).join(), /must be three different topics$/)
})

test('problems do not quote secrets', () => {
  const secrets = { AUTH_JWT_SECRET: 'hunter2', REDIS_URL: 'hunter2://:hunter2@localhost', API_TOKENS: 'hunter2' }
  const problems = problemsOf(secrets)
  assert.ok(problems.length >= 3)
  for (const problem of problems) assert.doesNotMatch(problem, /hunter2/)
})

test('an empty variable counts as not set', () => {
  assert.deepEqual(
    loadConfig({ env: { PORT: '', AUTH_JWT_SECRET: '', REDIS_URL: '', API_TOKENS: '' } }),
    loadConfig({ env: {} })
  )
})

test('settings may be in a file, and the environment takes precedence', (t) => {
  const file = fileWith(t, '# a comment\nPORT=4000\nAPI_PORT="4001"\nNODE_ENV=development\n')
  const config = loadConfig({ env: { PORT: '5000', UNRELATED: 'x' }, file })
  assert.deepEqual([config.gateway.port, config.api.port], [5000, 4001])
})

test('an unknown setting in the file is a problem, and so is a missing file', (t) => {
  const file = fileWith(t, 'PROT=4000\n')
  assert.deepEqual(problemsOf({}, file), [`PROT: no such setting (in ${file})`])
  assert.match(problemsOf({}, `${file}.missing`)[0], /^--config .*\.missing: ENOENT/)
})

test('a setting that is gone is a problem that names its replacement, wherever it is set', (t) => {
  const known = Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings))
  for (const [name, instead] of Object.entries(GONE)) {
    const expected = `${name}: this setting is gone; ${instead}`
    const file = fileWith(t, `${name}=x\n`)
    assert.deepEqual(problemsOf({ [name]: 'x' }), [`${expected} (in environment)`])
    assert.deepEqual(problemsOf({}, file), [`${expected} (in ${file})`])
    assert.deepEqual(problemsOf({ [name]: '' }), [])
    assert.ok(!known.includes(name), `${name} is a setting`)
    for (const [other] of instead.matchAll(/[A-Z]+(?:_[A-Z]+)+/g)) assert.ok(
      known.includes(other) || other.startsWith('EXTENSION_'), `${other} is no setting`
    )
  }
})

test('the file may set production, which has stricter defaults and rules', (t) => {
  const config = loadConfig({ env: PRODUCTION })
  assert.deepEqual([config.production, config.gateway.host, config.auth.allowAnonymous], [true, '0.0.0.0', false])
  assert.equal(loadConfig({ env: { ...PRODUCTION, HOST: '10.0.0.1' } }).gateway.host, '10.0.0.1')
  for (const problems of [
    problemsOf({ NODE_ENV: 'production' }),
    problemsOf({ NODE_ENV: '' }, fileWith(t, 'NODE_ENV=production\n'))
  ]) {
    assert.deepEqual(
      problems.map((problem) => problem.split(':')[0]),
      ['REDIS_URL', 'AUTH_JWT_SECRET', 'API_TOKENS']
    )
  }
  assert.equal(
    loadConfig({ env: { ...PRODUCTION, AUTH_JWT_SECRET: '', AUTH_ALLOW_ANONYMOUS: 'true' } }).auth.allowAnonymous,
    true
  )
})

test('anonymous connections are allowed by default only if no key is set', () => {
  assert.equal(loadConfig({ env: { AUTH_JWT_SECRET: SECRET } }).auth.allowAnonymous, false)
  assert.equal(loadConfig({ env: { AUTH_JWKS_URL: 'https://issuer.example/keys' } }).auth.allowAnonymous, false)
  assert.equal(loadConfig({ env: { AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: '1' } }).auth.allowAnonymous, true)
  assert.match(problemsOf({ AUTH_ALLOW_ANONYMOUS: 'false' })[0], /^AUTH_JWT_SECRET: set it/)
})

test('an application may decide who clients are, and then nothing is anonymous', () => {
  const connect = { AUTH_CONNECT_URL: 'https://app.example/connect' }
  const { auth } = loadConfig({ env: { ...connect, AUTH_CONNECT_HEADERS: 'Cookie, X-Team,cookie' } })
  assert.deepEqual([auth.allowAnonymous, auth.connectHeaders], [false, ['cookie', 'x-team']])
  assert.deepEqual(loadConfig({ env: connect }).auth.connectHeaders, ['cookie', 'authorization'])
  assert.match(problemsOf({ ...connect, AUTH_ALLOW_ANONYMOUS: 'true' })[0], /^AUTH_ALLOW_ANONYMOUS: has no meaning with AUTH_CONNECT_URL/)
  for (const wrong of ['a b', 'cookie;x', 'héader', ' ', '__proto__'])
    assert.match(problemsOf({ ...connect, AUTH_CONNECT_HEADERS: wrong })[0] ?? '', /^AUTH_CONNECT_HEADERS=/, wrong)
  const secrets = `whsec_${Buffer.alloc(24).toString('base64')}`
  const production = { ...PRODUCTION, AUTH_JWT_SECRET: '', ...connect, UPLINK_SECRETS: secrets }
  assert.equal(loadConfig({ env: production }).auth.allowAnonymous, false)
  assert.match(problemsOf({ ...production, UPLINK_SECRETS: '' })[0], /^UPLINK_SECRETS: required in production/)
})

test('cookies that log in need the origin check in production', () => {
  const secrets = `whsec_${Buffer.alloc(24).toString('base64')}`
  const connect = { AUTH_CONNECT_URL: 'https://app.example/connect', UPLINK_SECRETS: secrets }
  for (const [env, setting] of /** @type {[Record<string, string>, string | undefined][]} */ ([
    [{ AUTH_COOKIE: 'jwt' }, 'AUTH_COOKIE'], [connect, 'AUTH_CONNECT_URL'],
    [{ ...connect, AUTH_CONNECT_HEADERS: 'authorization' }, undefined]
  ])) {
    const problems = problemsOf({ ...PRODUCTION, ALLOWED_ORIGINS: '*', ...env })
    assert.deepEqual(problems, setting === undefined ? [] : [
      `ALLOWED_ORIGINS=*: not with ${setting} in production, because the pages of any site could use the login of their visitors; name ` +
      'the origins of your pages'
    ])
    assert.deepEqual(problemsOf({ ...PRODUCTION, ALLOWED_ORIGINS: 'https://app.example', ...env }), [])
    assert.deepEqual(problemsOf({ AUTH_JWT_SECRET: SECRET, ALLOWED_ORIGINS: '*', ...env }), [])
  }
  assert.match(problemsOf({ AUTH_COOKIE: 'jwt' })[0], /^AUTH_COOKIE: needs AUTH_JWT_SECRET or AUTH_JWKS_URL/)
  for (const wrong of ['a b', 'a=b', 'a;b', 'a"b'])
    assert.match(problemsOf({ AUTH_JWT_SECRET: SECRET, AUTH_COOKIE: wrong })[0], /^AUTH_COOKIE=.*: must be the name of a cookie/)
})

test('only one kind of key is allowed, and a secret must be long enough', () => {
  assert.deepEqual(problemsOf({ AUTH_JWT_SECRET: SECRET, AUTH_JWKS_URL: 'https://issuer.example' }), [
    'AUTH_JWT_SECRET, AUTH_JWKS_URL: set one of them'
  ])
  assert.match(problemsOf({ AUTH_JWT_SECRET: 'x'.repeat(31) })[0], /^AUTH_JWT_SECRET: must have at least 32 characters/)
})

test('the public key of tokens may be a file', () => {
  const keysOf = (/** @type {string} */ text) => loadConfig({ env: { AUTH_JWKS_URL: text } }).auth.keys
  assert.deepEqual(keysOf('file:///etc/my%20key.pem'), { file: '/etc/my key.pem' })
  assert.deepEqual(keysOf('https://a.example/keys'), { url: 'https://a.example/keys' })
  for (const wrong of ['file:key.pem', 'file://key.pem', 'file://host/key.pem', 'file:///', 'file:///a?b'])
    assert.match(problemsOf({ AUTH_JWKS_URL: wrong }).join(), /must have three slashes and the path after file:/, wrong)
})

test('the settings are frozen', () => {
  const config = loadConfig({ env: { API_TOKENS: 'editor:0123456789abcdef', ALLOWED_ORIGINS: 'https://a.example' } })
  assert.ok(Object.isFrozen(config))
  for (const block of Object.values(config)) {
    assert.ok(Object.isFrozen(block))
    if (typeof block === 'object')
      for (const value of Object.values(block)) assert.ok(Object.isFrozen(value), String(value))
  }
})

test('issuers and audiences of tokens are lists, empty by default', () => {
  const lists = ({ auth: { issuers, audiences } } = loadConfig({ env: {} })) => [issuers, audiences]
  assert.deepEqual(lists(), [[], []])
  const env = { AUTH_JWT_ISSUER: 'https://a.example, https://b.example/', AUTH_JWT_AUDIENCE: 'inkcast,' }
  assert.deepEqual(lists(loadConfig({ env })), [['https://a.example', 'https://b.example/'], ['inkcast']])
})

test('in production callers are needed: tokens or a file', () => {
  const env = { ...PRODUCTION, API_TOKENS: '' }
  assert.deepEqual(problemsOf(env), ['API_TOKENS: required in production, as name:token,… (or API_CALLERS_FILE)'])
  assert.deepEqual(problemsOf({ ...env, API_CALLERS_FILE: '/etc/inkcast/callers.json' }), [])
})

const PURPOSES = ['cert', 'key', 'ca']
/** Sets of purposes as numbers: 0 is absent, 2 is there twice. */
const AMOUNTS = [0, 1, 2]
/**
 * Forms of PEM files, by setting.
 * @type {Record<string, { forms: string[], more?: Record<string, string>, others?: string }>}
 */
const PEM_FILES = {
  TLS_FILES: { forms: ['cert,key'] },
  API_TLS_FILES: { forms: ['cert,key', 'cert,key,ca'] },
  ADMIN_TLS_FILES: { forms: ['cert,key', 'cert,key,ca'] },
  PEER_TLS_FILES: { forms: ['cert,key,ca'], more: { PEER_HOST: '10.0.0.7' } },
  KAFKA_SSL: { forms: ['ca', 'cert,key', 'cert,key,ca'], others: 'true, false, ' }
}

test('files of TLS are read by purpose in any order, and other sets of purposes are a problem', () => {
  const sets = AMOUNTS.flatMap((cert) => AMOUNTS.flatMap((key) => AMOUNTS.map((ca) => ({ cert, key, ca })))).slice(1)
  let cases = 0
  for (const [name, { forms, more, others = '' }] of Object.entries(PEM_FILES)) {
    for (const set of sets) {
      const purposes = PURPOSES.flatMap((purpose) => Array(/** @type {any} */ (set)[purpose]).fill(purpose))
      for (const order of [purposes, purposes.toReversed()]) {
        const env = { ...more, [name]: order.map((purpose) => `${purpose}:/a:b/${purpose}.pem`).join(', ') }
        const expected = forms.includes(purposes.join())
          ? []
          : [`${name}=${env[name]}: must be ${others}${forms.map((form) => form.replace(/\w+/g, '$&:<path>')).join(' or ')}`]
        assert.deepEqual(problemsOf(env), expected)
        cases++
      }
    }
    for (const wrong of ['/a.pem', '/a.pem,/b.pem', 'cert:,key:/b', 'cert:/a,key', ',', 'Cert:/a,key:/b', 'x:/a'])
      assert.match(problemsOf({ ...more, [name]: wrong }).join(), new RegExp(`^${name}=${wrong}: must be `))
  }
  assert.equal(cases, 260)
  assert.deepEqual(
    loadConfig({ env: { API_TLS_FILES: 'ca:/c,key:/k:1,cert:/b' } }).api.tls, { ca: '/c', key: '/k:1', cert: '/b' })
})

test('tokens for Kafka have one source, a file or a URL with client id and secret', () => {
  const env = { KAFKA_SSL: 'true', KAFKA_SASL_MECHANISM: 'oauthbearer' }
  const [file, url] = ['/var/run/token', 'https://login.example/token?scope=kafka']
    .map((source) => ({ ...env, KAFKA_SASL_TOKEN_SOURCE: source }))
  assert.deepEqual(problemsOf(env), ['KAFKA_SASL_MECHANISM=oauthbearer: needs KAFKA_SASL_TOKEN_SOURCE'])
  assert.deepEqual([problemsOf(file), problemsOf({ ...url, KAFKA_SASL_USERNAME: 'a', KAFKA_SASL_PASSWORD: 'b' })], [[], []])
  assert.match(problemsOf(url).join(), /^KAFKA_SASL_TOKEN_SOURCE: a URL needs KAFKA_SASL_USERNAME and KAFKA_SASL_P/)
  assert.match(problemsOf({ ...file, KAFKA_SSL: '' }).join(), /^KAFKA_SASL_MECHANISM=oauthbearer: needs KAFKA_SSL,/)
  assert.deepEqual(
    problemsOf({ ...file, KAFKA_SASL_MECHANISM: '' }), ['KAFKA_SASL_TOKEN_SOURCE: needs KAFKA_SASL_MECHANISM=oauthbearer'])
  assert.match(
    problemsOf({ ...env, KAFKA_SASL_TOKEN_SOURCE: 'ftp://host/token' }).join(), /^KAFKA_SASL_TOKEN_SOURCE=.*must be a URL/)
})

test('TLS of one listener leaves the others as they are', () => {
  const listeners = ({ gateway, api, admin } = loadConfig({ env: {} })) =>
    [gateway.tls, api.tls, admin.tls, gateway.peerTls].map((files) => files !== undefined)
  assert.deepEqual(listeners(), [false, false, false, false])
  for (const [index, name] of ['TLS_FILES', 'API_TLS_FILES', 'ADMIN_TLS_FILES', 'PEER_TLS_FILES'].entries()) {
    const { forms, more } = PEM_FILES[name]
    const files = forms[0].replace(/\w+/g, '$&:/a')
    const config = loadConfig({ env: { ...more, [name]: files } })
    assert.deepEqual(listeners(config), [0, 1, 2, 3].map((other) => other === index))
  }
})

test('files between machines need the address for other machines', () => {
  assert.deepEqual(problemsOf({ PEER_TLS_FILES: 'cert:a,key:b,ca:c' }), ['PEER_TLS_FILES: needs PEER_HOST'])
})

test('TLS to Kafka is off, on, or on with files', () => {
  const values = { '': undefined, 'false': undefined, '0': undefined, 'true': {}, '1': {}, 'ca:/a': { ca: '/a' } }
  for (const [text, ssl] of Object.entries(values))
    assert.deepEqual(loadConfig({ env: { KAFKA_SSL: text } }).kafka.ssl, ssl)
})

test('.env is read if it exists and there is no file of --config; it may have other variables', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [envFile, file] = ['.env', 'other'].map((name) => join(folder, name))
  assert.equal(loadConfig({ env: {}, envFile }).gateway.port, 3000, 'there is none')
  writeFileSync(envFile, 'PORT=1\nAPI_PORT=2\nADMIN_PORT=\nEXTENSION_CHAT_ROOM=a\nPATH_OF_OTHERS=1\n')
  writeFileSync(file, 'PORT=4\n')
  const { gateway, api, admin, extensionSettings } = loadConfig({ env: { API_PORT: '3' }, envFile })
  assert.deepEqual([gateway.port, api.port, admin.port], [1, 3, 9100])
  assert.deepEqual(extensionSettings, { EXTENSION_CHAT_ROOM: 'a' })
  assert.equal(loadConfig({ env: {}, envFile, file }).gateway.port, 4)
  assert.equal(loadConfig({ env: {}, envFile, file }).api.port, 3001, 'nothing of .env')
})
