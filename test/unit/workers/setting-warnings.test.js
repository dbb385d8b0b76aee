import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSettings } from '../../../src/cli/check/settings.js'
import { loadConfig, readSettings } from '../../../src/config/load.js'
import { settingWarnings } from '../../../src/workers/setting-warnings.js'

const CLUSTER = { REDIS_URL: 'redis://localhost:6379' }

/** @param {Record<string, string>} env @returns {string[]} */
const warningsOf = (env) => settingWarnings(loadConfig({ env })).map(({ text }) => text)

test('HANG_TIMEOUT above the lease of a worker is warned about: its sessions would end before it is killed', () => {
  assert.deepEqual(warningsOf({ ...CLUSTER, HANG_TIMEOUT: '10001' }), [
    'HANG_TIMEOUT=10001 is above 10000: other workers end the sessions of a gateway worker that hangs for 10 s, and it is killed only later'
  ])
  assert.deepEqual(warningsOf({ ...CLUSTER, HANG_TIMEOUT: '0' }), [
    'HANG_TIMEOUT=0: other workers end the sessions of a gateway worker that hangs for 10 s, and it is never killed'
  ])
  for (const time of ['2000', '10000']) assert.deepEqual(warningsOf({ ...CLUSTER, HANG_TIMEOUT: time }), [])
  assert.deepEqual(warningsOf(CLUSTER), [])
})

test('embedded mode has no leases, so HANG_TIMEOUT may have any value there', () => {
  assert.deepEqual(warningsOf({ HANG_TIMEOUT: '60000' }), [])
})

test('inkcast check reports these warnings, with what to do, also beside a wrong HANG_TIMEOUT', () => {
  const [finding, ...more] = checkSettings(readSettings({ env: { ...CLUSTER, HANG_TIMEOUT: '20000' } }))
  assert.deepEqual(more, [])
  assert.equal(finding.level, 'warning')
  assert.match(finding.text, /^HANG_TIMEOUT=20000 is above 10000: /)
  assert.match(String(finding.todo), /set HANG_TIMEOUT to 10000 or less/)
  const wrong = checkSettings(readSettings({ env: { ...CLUSTER, HANG_TIMEOUT: 'long' } }))
  assert.deepEqual(wrong.map(({ level }) => level), ['error'])
})

test('a name that is like that of a setting is warned about at the start, as inkcast check does', () => {
  assert.deepEqual(settingWarnings(loadConfig({ env: { ALOWED_ORIGINS: 'https://a.example', PATH: '/bin', EXTENSION_ORIGIN: 'a' } })), [
    { text: 'ALOWED_ORIGINS is no setting', todo: 'did you mean ALLOWED_ORIGINS? Correct it (environment)' }
  ])
})
