import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { checkSettings } from '../../../src/operate/cli/check/settings.js'
import { HOOKS } from '../../../src/base/common/hooks.js'
import { checkLibraries, uncheckedLibraries } from '../../../src/config/library-versions.js'
import { loadConfig, readSettings } from '../../../src/config/load.js'
import { settingWarnings } from '../../../src/people/workers/setting-warnings.js'

const ANY = { LIBRARY_VERSIONS: 'any' }
const packages = [...new Set(HOOKS.map((hook) => hook.package))]
const checkedPackages = packages.filter((name) => name !== 'node' && name !== 'socket.io-client')
/** @type {(name: string) => string} */
const checked = (name) => /** @type {any} */ (HOOKS.find((hook) => hook.package === name)).version
/** @param {string} other */
const versionsWith = (other) => (/** @type {string} */ name) => name === other ? '99.0.0' : checked(name)

describe('the check of versions', () => {
  test('finds every installed library in the version of the list', () => {
    assert.equal(uncheckedLibraries(), null)
    checkLibraries(loadConfig({ env: {} }))
  })

  for (const name of checkedPackages) {
    test(`refuses another ${name}, with what to install, and with LIBRARY_VERSIONS=any warns only`, () => {
      const versionOf = versionsWith(name)
      const problem = `unchecked versions of libraries: ${name} 99.0.0`
      const remedy = `install ${name}@${checked(name)}`
      assert.throws(() => checkLibraries(loadConfig({ env: {} }), versionOf), {
        code: 'unchecked_libraries',
        message: `${problem}; ${remedy}, or set LIBRARY_VERSIONS=any to start with a warning`
      })
      assert.deepEqual(settingWarnings(loadConfig({ env: {} }), versionOf), [])
      checkLibraries(loadConfig({ env: ANY }), versionOf)
      assert.deepEqual(settingWarnings(loadConfig({ env: ANY }), versionOf), [
        { text: `LIBRARY_VERSIONS=any: ${problem}`, todo: remedy }
      ])
    })
  }

  test('says all of them in one sentence', () => {
    assert.throws(() => checkLibraries(loadConfig({ env: {} }), () => '99.0.0'), ({ message }) =>
      checkedPackages.every((name) => message.includes(`${name} 99.0.0`) && message.includes(`${name}@${checked(name)}`)))
  })

  test('is part of inkcast check: an error, and with LIBRARY_VERSIONS=any a warning', () => {
    const levels = (/** @type {Record<string, string>} */ env) =>
      checkSettings(readSettings({ env }), versionsWith('ws')).map(({ level, text }) => [level, text.includes('ws 99.0.0')])
    assert.deepEqual(levels({}), [['error', true]])
    assert.deepEqual(levels(ANY), [['warning', true]])
  })

  test('is no obstacle to a fresh installation: package.json has these versions', () => {
    const { dependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
    // notepack.io is a dependency of socket.io-msgpack-parser alone, whose range (~2.2.0) has one version
    for (const name of checkedPackages.filter((one) => one !== 'notepack.io')) assert.equal(dependencies[name], checked(name), name)
  })
})
