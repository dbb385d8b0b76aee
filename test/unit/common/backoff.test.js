import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Backoff, retry } from '../../../src/base/common/backoff.js'

test('delays double from min to max, each between half and the whole of it', () => {
  for (const [random, share] of /** @type {const} */ ([[0, 0.5], [0.5, 0.75]])) {
    const backoff = new Backoff({ min: 100, max: 1000, random: { number: () => random } })
    assert.deepEqual(
      Array.from({ length: 6 }, () => backoff.next()),
      [100, 200, 400, 800, 1000, 1000].map((ms) => ms * share)
    )
  }
})

test('after a reset it starts at min again, and attempts are counted', () => {
  const backoff = new Backoff({ min: 100, random: { number: () => 1 } })
  assert.deepEqual([backoff.next(), backoff.next(), backoff.tries], [100, 200, 2])
  backoff.reset()
  assert.deepEqual([backoff.tries, backoff.next()], [0, 100])
})

test('a thousand attempts stay within max', () => {
  const backoff = new Backoff({ max: 5000, random: { number: () => 1 } })
  for (let i = 0; i < 1000; i++) assert.ok(backoff.next() <= 5000)
})

const sources = { clock: systemClock, backoff: new Backoff({ random: systemRandom }) }

/** A clock that records sleeps, which end at once. */
function sleepless () {
  /** @type {number[]} */
  const slept = []
  return { slept, now: Date.now, sleep: async (/** @type {number} */ ms) => { slept.push(ms) } }
}

const failing = (/** @type {number} */ times) => {
  const tries = /** @type {number[]} */ ([])
  return {
    tries,
    attempt: async (/** @type {number} */ count) => {
      tries.push(count)
      if (tries.length <= times) throw new Error(`failure ${tries.length}`)
      return 'done'
    }
  }
}

test('retry repeats until success, with delays in between, and reports each failure', async () => {
  const clock = sleepless()
  const { attempt, tries } = failing(3)
  /** @type {unknown[]} */
  const told = []
  const backoff = new Backoff({ min: 100, random: { number: () => 1 } })
  assert.equal(
    await retry(attempt, {
      clock,
      backoff,
      onFailure: (error, wait) => told.push([/** @type {Error} */ (error).message, wait])
    }),
    'done'
  )
  assert.deepEqual(tries, [0, 1, 2, 3])
  assert.deepEqual(clock.slept, [100, 200, 400])
  assert.deepEqual(told, [['failure 1', 100], ['failure 2', 200], ['failure 3', 400]])
})

test('retry gives up at once with an error that is not retryable', async () => {
  const clock = sleepless()
  const { attempt, tries } = failing(9)
  await assert.rejects(
    retry(attempt, { clock, backoff: new Backoff({ random: systemRandom }), retryable: () => tries.length < 3 }),
    { message: 'failure 3' }
  )
  assert.equal(clock.slept.length, 2)
})

test('an abort ends retry with its reason, before an attempt, during one and during a delay', async () => {
  const reason = new Error('stopped')
  const never = () => assert.fail('not to be called')
  await assert.rejects(retry(never, { ...sources, signal: AbortSignal.abort(reason) }), reason)

  const during = new AbortController()
  await assert.rejects(
    retry(
      async () => {
        during.abort(reason)
        throw new Error('failed because of it')
      },
      { ...sources, signal: during.signal }
    ),
    reason
  )

  const waiting = new AbortController()
  const slow = new Backoff({ min: 60_000, random: systemRandom })
  await assert.rejects(
    retry(() => Promise.reject(new Error('away')), {
      signal: waiting.signal,
      backoff: slow,
      onFailure: () => setImmediate(() => waiting.abort(reason)),
      clock: systemClock
    }),
    reason
  )
})

test('a successful attempt counts as success, even if it was aborted in the meantime', async () => {
  const stopping = new AbortController()
  assert.equal(await retry(async () => { stopping.abort(); return 'done' }, { ...sources, signal: stopping.signal }), 'done')
})
