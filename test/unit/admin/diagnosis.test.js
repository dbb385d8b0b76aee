import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose, readMachine } from '../../../src/admin/diagnosis.js'
import { createCutDetector } from '../../../src/gateway/cut-detector.js'
import { createSessionIds, timeOfSid } from '../../../src/wire/session-id.js'

test('a low limit of open files and a short backlog are named with what to set', () => {
  const [files, backlog, ...more] = diagnose({ openFiles: 1024, backlog: 128 }, { production: true })
  assert.match(files, /1024.*65536/)
  assert.match(backlog, /128.*net\.core\.somaxconn.*4096/)
  assert.deepEqual(more, [])
  assert.deepEqual(diagnose({ openFiles: 65_536, backlog: 4096 }, { production: true }), [])
  assert.deepEqual(diagnose({ openFiles: 20_000, backlog: 128 }, { production: false }), [])
  assert.deepEqual(diagnose({}, { production: true }), [], 'where nothing is known, nothing is said')
})

test(
  'the limits of this machine are read where it tells them',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const { openFiles = 0, backlog = 0 } = readMachine()
    assert.ok(openFiles > 0 && backlog > 0)
  }
)

/** @param {number[]} ages */
function warningsAfter (ages) {
  /** @type {string[]} */
  const warnings = []
  const detector = createCutDetector({
    pingInterval: 25_000,
    log: /** @type {any} */ ({ warn: (/** @type {string} */ line) => warnings.push(line) })
  })
  for (const age of ages) detector.ended(age)
  return warnings
}

test('connections that all end at the same age are put down to a proxy, once', () => {
  const warnings = warningsAfter(Array.from({ length: 200 }, (_, i) => 15_000 + i % 7 * 100))
  assert.equal(warnings.length, 1)
  assert.match(warnings[0], /15 s.*HEARTBEAT_MAX/)
})

test('connections that end at any age, or young, or after a heartbeat are nothing to speak of', () => {
  assert.deepEqual(warningsAfter(Array.from({ length: 200 }, (_, i) => 5000 + i * 400)), [])
  assert.deepEqual(warningsAfter(Array.from({ length: 200 }, () => 1000)), [])
  assert.deepEqual(warningsAfter(Array.from({ length: 200 }, () => 60_000)), [])
})

test('a session id tells when it was made', () => {
  const now = 1_795_246_843_280
  assert.equal(timeOfSid(createSessionIds(77, { clock: { now: () => now } })()), now)
})
