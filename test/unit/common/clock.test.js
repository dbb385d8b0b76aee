import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/common/clock.js'

test('the system clock has the time and sleeps for the given time', async () => {
  assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000)
  const begun = systemClock.monotonic()
  await systemClock.sleep(20)
  // a timer may fire a millisecond early
  assert.ok(systemClock.monotonic() - begun >= 19)
})

test('an aborted sleep rejects with the reason, also if it was aborted before its start', async () => {
  const reason = new Error('stopped')
  await assert.rejects(systemClock.sleep(60_000, AbortSignal.abort(reason)), reason)
  const stopping = new AbortController()
  setImmediate(() => stopping.abort(reason))
  await assert.rejects(systemClock.sleep(60_000, stopping.signal), reason)
})
