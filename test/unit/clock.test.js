import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/clock.js'

test('the system clock tells the time and sleeps for as long as asked', async () => {
  const begun = systemClock.now()
  assert.ok(Math.abs(begun - Date.now()) < 1000)
  await systemClock.sleep(20)
  // a timer may fire a millisecond early
  assert.ok(systemClock.now() - begun >= 19)
})

test('a sleep that is aborted rejects with the reason, also if it was before it began', async () => {
  const reason = new Error('stopped')
  await assert.rejects(systemClock.sleep(60_000, AbortSignal.abort(reason)), reason)
  const stopping = new AbortController()
  setImmediate(() => stopping.abort(reason))
  await assert.rejects(systemClock.sleep(60_000, stopping.signal), reason)
})
