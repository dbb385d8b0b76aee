import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { createLog } from '../../../src/base/common/log.js'
import { createLogLevel } from '../../../src/base/common/log-level-control.js'

/** @typedef {import('../../../src/base/common/log-level.js').LogLevel} LogLevel */

/** @param {LogLevel} usual */
function setUp (usual) {
  const log = createLog({ level: usual, pretty: false, role: 'test', clock: systemClock })
  log.info = () => {}
  return { log, control: createLogLevel({ log, usual }) }
}

test('a new level counts for the log and for its children, of any generation', () => {
  const { log, control } = setUp('error')
  const child = log.child({ part: 1 })
  const grandchild = child.child({ part: 2 })
  assert.equal(control.set('debug'), 'debug')
  assert.deepEqual([log.level, child.level, grandchild.level], ['debug', 'debug', 'debug'])
  assert.equal(control.set('default'), 'error')
  assert.deepEqual([log.level, child.level, grandchild.level], ['error', 'error', 'error'])
})

test('toggling goes to debug and back to the level of the settings; from debug it goes to info', () => {
  for (const [usual, back] of /** @type {[LogLevel, LogLevel][]} */ ([['warn', 'warn'], ['silent', 'silent'], ['debug', 'info']])) {
    const { control } = setUp(usual)
    control.set('trace')
    assert.equal(control.set(control.toggled), 'debug')
    assert.equal(control.set(control.toggled), back)
  }
})
