import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'

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

test('a stopped timer does not run, and a repeating one runs until it is stopped', async () => {
  let once = 0
  systemClock.timer(1, () => { once++ }).stop()
  systemClock.soon(() => { once++ }).stop()
  let count = 0
  await new Promise((resolve) => {
    const repeating = systemClock.every(1, () => {
      if (++count < 3) return
      repeating.stop()
      systemClock.timer(5, () => systemClock.soon(() => resolve(undefined)))
    })
  })
  assert.deepEqual({ once, count }, { once: 0, count: 3 })
})

/**
 * The same steps by Node's timers and by the manual ones, each after the one before.
 * @param {import('../../../src/base/common/clock.js').Clock} clock
 */
function scenario (clock) {
  /** @type {string[]} */
  const seen = []
  const stopping = new AbortController()
  clock.timer(0, () => {
    seen.push('timer')
    const stopped = clock.soon(() => { seen.push('stopped') })
    clock.soon(() => {
      seen.push('soon')
      clock.sleep(60_000, stopping.signal).catch((error) => {
        seen.push(error)
        clock.sleep(2).then(() => {
          seen.push('slept')
          const every = clock.every(2, () => { if (seen.push('every') === 6) every.stop() })
        })
      })
      stopping.abort('aborted')
    })
    stopped.stop()
  }).unref()
  return seen
}

test('the clock of the tests runs its timers as the system does', async () => {
  const real = scenario(systemClock)
  const clock = manualClock()
  const manual = scenario(clock)
  await clock.pass(100)
  assert.deepEqual(manual, ['timer', 'soon', 'aborted', 'slept', 'every', 'every'])
  await waitFor(() => real.length === manual.length, { message: () => JSON.stringify(real) })
  assert.deepEqual(real, manual)
  assert.equal(clock.timers, 0)
})

test('a process that was blocked finds its timers late, and an interval runs once for what it missed', () => {
  const clock = manualClock()
  /** @type {number[]} */
  const at = []
  clock.every(10, () => at.push(clock.monotonic() - 1000))
  clock.stall(35)
  clock.advance(10)
  assert.deepEqual(at, [35, 45])
})
