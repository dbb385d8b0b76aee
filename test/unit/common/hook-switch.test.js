import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { recordingLog } from '../../helpers/recording-log.js'
import { checkHooks, mayHook } from '../../../src/common/hook-switch.js'
import { HOOKS } from '../../../src/common/hooks.js'

const packages = [...new Set(HOOKS.map((hook) => hook.package))]
const allowed = () => packages.filter(mayHook)
/** @type {(name: string) => string} */
const checked = (name) => /** @type {any} */ (HOOKS.find((hook) => hook.package === name)).version

/** @param {Partial<Parameters<typeof checkHooks>[0]>} options */
function check (options) {
  const { log, lines } = recordingLog()
  checkHooks({ enabled: true, log, ...options })
  return lines.map(({ level, text }) => `${level} ${text}`)
}

describe('the check of versions', () => {
  afterEach(() => { check({}) })

  test('finds every installed package in the version of the list', () => {
    assert.deepEqual(check({}), [])
    assert.deepEqual(allowed(), packages)
  })

  for (const name of packages.filter((name) => name !== 'node' && name !== 'socket.io-client'))
    test(`turns off the parts of another ${name}, in one line`, () => {
      const lines = check({ versionOf: (one) => (one === name ? '99.0.0' : checked(one)) })
      assert.deepEqual(lines, [
        `warn private parts are off, and slower alternatives are used, because of unchecked versions: ${name} 99.0.0 (checked: ${checked(name)})`
      ])
      assert.equal(mayHook(name), false)
      assert.equal(mayHook('node'), true)
      assert.equal(mayHook('kafkajs'), name !== 'kafkajs')
    })

  test('the parts of one connection are switched together', () => {
    check({ versionOf: (one) => (one === 'ws' ? '99.0.0' : checked(one)) })
    assert.deepEqual(allowed(), ['@socket.io/redis-adapter', 'kafkajs', 'ioredis', 'node', 'socket.io-client'])
  })

  test('several packages are one line', () => {
    const [line, ...more] = check({ versionOf: () => '99.0.0' })
    assert.match(line, /socket\.io 99\.0\.0 \(checked: 4\.8\.4\), .*, kafkajs 99\.0\.0 \(checked: 2\.2\.4\), ioredis/)
    assert.deepEqual(more, [])
  })

  test('the switch turns off all', () => {
    const lines = check({ enabled: false })
    assert.equal(lines.length, 1)
    assert.match(lines[0], /^info PRIVATE_HOOKS=false: /)
    assert.deepEqual(allowed(), [])
  })
})
