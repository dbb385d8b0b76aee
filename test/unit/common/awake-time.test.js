import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AwakeTime } from '../../../src/base/common/awake-time.js'
import { manualClock } from '../../helpers/manual-clock.js'

test('time passes as on the clock, and a pause between two looks counts in part', () => {
  const clock = manualClock()
  const time = new AwakeTime(clock, 2000)
  clock.advance(500)
  assert.equal(time.now(), 500)
  clock.advance(2000)
  assert.equal(time.now(), 2500)
  clock.stall(60_000)
  assert.equal(time.now(), 4500)
  clock.advance(1)
  assert.equal(time.now(), 4501)
})
