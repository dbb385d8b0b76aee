import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BLOCKS } from '../../../src/config/blocks.js'
import { ConfigError, loadConfig } from '../../../src/config/load.js'

/** A correct value of each secret setting, which are more with each new one. @type {Record<string, string>} */
const VALUES = {
  REDIS_URL: 'redis://:word@127.0.0.1:6379', API_TOKENS: 'name:0123456789abcdef',
  UPLINK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`
}
const SECRETS = Object.values(BLOCKS).flatMap(({ settings }) =>
  Object.entries(/** @type {Record<string, import('../../../src/config/setting.js').Setting>} */ (settings))
    .filter(([, { secret }]) => secret)
)

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return (/** @type {string} */ content) => {
    const path = join(folder, 'secret')
    writeFileSync(path, content)
    return path
  }
}

/** @param {Parameters<typeof loadConfig>[0]} source @returns {string[]} */
function problemsOf (source) {
  try {
    loadConfig(source)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
}

test('every secret setting can be read from a file', (t) => {
  const write = setUp(t)
  assert.ok(SECRETS.length > 5)
  for (const [name, { as }] of SECRETS) {
    const value = VALUES[name] ?? 'a-secret-of-at-least-32-characters'
    const block = (/** @type {any} */ config) =>
      Object.values(config).find((values) => typeof values === 'object' && as in values && as !== 'token')?.[as] ??
      config.admin[as]
    const direct = loadConfig({ env: { [name]: value } })
    assert.deepEqual(block(loadConfig({ env: { [`${name}_FILE`]: write(`${value}\n`) } })), block(direct), name)
    assert.ok(JSON.stringify(direct).includes(JSON.stringify(value).slice(1, 9)), name)
  }
})

test('a missing or empty file stops the start, and so does a secret that is there twice', (t) => {
  const write = setUp(t)
  assert.match(problemsOf({ env: { AUTH_JWT_SECRET_FILE: '/nowhere' } })[0], /^AUTH_JWT_SECRET_FILE=\/nowhere: ENOENT/)
  const path = write('\n')
  assert.deepEqual(problemsOf({ env: { AUTH_JWT_SECRET_FILE: path } }), [`AUTH_JWT_SECRET_FILE=${path}: is empty`])
  const both = { AUTH_JWT_SECRET: 'a'.repeat(32), AUTH_JWT_SECRET_FILE: write('b'.repeat(32)) }
  assert.deepEqual(problemsOf({ env: both }), ['AUTH_JWT_SECRET, AUTH_JWT_SECRET_FILE: set one of them'])
})

test('the content of a file is not shown when it is wrong', (t) => {
  const [problem] = problemsOf({ env: { AUTH_JWT_SECRET_FILE: setUp(t)('short') } })
  assert.match(problem, /^AUTH_JWT_SECRET: must have at least 32/)
  assert.doesNotMatch(problem, /short/)
})

test('a file of settings may name files of secrets, and only of secrets; the environment wins', (t) => {
  const write = setUp(t)
  const secret = write('from the file, at least 32 characters')
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'settings')
  writeFileSync(file, `AUTH_JWT_SECRET_FILE=${secret}\n`)
  assert.equal(loadConfig({ env: {}, file }).auth.secret, 'from the file, at least 32 characters')
  const env = { AUTH_JWT_SECRET: 'from the environment, 32 characters' }
  assert.equal(loadConfig({ env, file }).auth.secret, env.AUTH_JWT_SECRET)
  writeFileSync(file, `PORT_FILE=${secret}\n`)
  assert.deepEqual(problemsOf({ env: {}, file }), [`PORT_FILE: no such setting (in ${file})`])
})
