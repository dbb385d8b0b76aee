import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose, readMachine } from '../../../src/admin/diagnosis.js'
import { createSessionIds, timeOfSid } from '../../../src/wire/session-id.js'

test('a low limit of open files and a short backlog are reported with the setting to change', () => {
  const [files, backlog, ...more] = diagnose({ openFiles: 1024, backlog: 128 }, { production: true })
  assert.match(files, /1024.*65536/)
  assert.match(backlog, /128.*net\.core\.somaxconn.*4096/)
  assert.deepEqual(more, [])
  assert.deepEqual(diagnose({ openFiles: 65_536, backlog: 4096 }, { production: true }), [])
  assert.deepEqual(diagnose({ openFiles: 20_000, backlog: 128 }, { production: false }), [])
  assert.deepEqual(diagnose({}, { production: true }), [], 'unknown limits are not reported')
})

test(
  'the limits of this machine are read if available',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const { openFiles = 0, backlog = 0 } = readMachine()
    assert.ok(openFiles > 0 && backlog > 0)
  }
)

test('a session id contains its creation time', () => {
  const now = 1_795_246_843_280
  assert.equal(timeOfSid(createSessionIds(77, { clock: { now: () => now } })()), now)
})
