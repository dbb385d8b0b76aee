import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogLimit } from '../../../src/base/common/log-limit.js'
import { manualClock } from '../../helpers/manual-clock.js'

test('a line is due at once, and again after the interval or after a recovery', () => {
  const clock = manualClock()
  const limit = new LogLimit({ interval: 1000, clock })
  assert.equal(limit.due(), true)
  clock.advance(999)
  assert.equal(limit.due(), false)
  clock.advance(1)
  assert.equal(limit.due(), true)
  assert.equal(limit.due(), false)
  limit.reset()
  assert.equal(limit.due(), true)
})

test('the default interval between two lines is a minute', () => {
  const clock = manualClock()
  const limit = new LogLimit({ clock })
  limit.due()
  clock.advance(59_999)
  assert.equal(limit.due(), false)
  clock.advance(1)
  assert.equal(limit.due(), true)
})
