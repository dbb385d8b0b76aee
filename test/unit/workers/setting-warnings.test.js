import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'
import { settingWarnings } from '../../../src/people/workers/setting-warnings.js'

test('a name that is like that of a setting is warned about at the start, as inkcast check does', () => {
  assert.deepEqual(settingWarnings(loadConfig({ env: { ALOWED_ORIGINS: 'https://a.example', PATH: '/bin', EXTENSION_ORIGIN: 'a' } })), [
    { text: 'ALOWED_ORIGINS is no setting', todo: 'did you mean ALLOWED_ORIGINS? Correct it (environment)' }
  ])
})
