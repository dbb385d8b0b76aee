import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../../src/base/common/clock.js'
import { withTimeLimit } from '../../../src/base/common/wait.js'
import { collectGarbage } from '../../helpers/collect-garbage.js'
import { manualClock } from '../../helpers/manual-clock.js'

const never = new AbortController().signal
/** @param {AbortSignal} signal */
const untilAborted = (signal) => delay(20_000, undefined, { signal }).catch(({ cause }) => { throw cause })

test('work that takes too long is aborted, also after a garbage collection', async () => {
  const work = withTimeLimit(200, never, untilAborted, systemClock)
  collectGarbage()
  await assert.rejects(work, { name: 'TimeoutError', message: 'not done in 200 ms' })
})

test('where this process did not run at the end of the time, it reads first what came meanwhile', async () => {
  const clock = manualClock()
  const answer = withTimeLimit(2000, never, (signal) => new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    // the sockets of a fetch are read in several turns
    clock.timer(3000 + 20, () => resolve('the answer'))
  }), clock)
  await clock.pass(1000)
  clock.stall(2000)
  await clock.pass(20)
  assert.equal(await answer, 'the answer')
})

test('it has as long for that as its timer was late, and together no longer than the limit', async () => {
  for (const [stop, ends] of [[2500, 3500 + 1500], [60_000, 61_000 + 2000]]) {
    const clock = manualClock()
    /** @type {string | undefined} */
    let ended
    const work = withTimeLimit(2000, never, (signal) => new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    }), clock)
    work.catch(({ name }) => { ended = name })
    const begin = clock.monotonic()
    await clock.pass(1000)
    clock.stall(stop)
    await clock.pass(1)
    assert.equal(ended, undefined)
    while (ended === undefined) await clock.pass(1)
    assert.deepEqual([ended, clock.monotonic() - begin], ['TimeoutError', ends])
  }
})

test('work is aborted with its caller, and by the reason of the caller', async () => {
  const caller = new AbortController()
  const reason = new Error('stopped')
  const work = withTimeLimit(20_000, caller.signal, untilAborted, systemClock)
  collectGarbage()
  caller.abort(reason)
  await assert.rejects(work, reason)
  await assert.rejects(withTimeLimit(20_000, caller.signal, untilAborted, systemClock), reason)
})

test('work in time gives its result, or its error', async () => {
  assert.equal(await withTimeLimit(20_000, never, async () => 1, systemClock), 1)
  await assert.rejects(withTimeLimit(20_000, never, async () => { throw new RangeError('x') }, systemClock), RangeError)
})

test('a signal that lives long keeps nothing of the work that was done with it', async () => {
  const { signal } = new AbortController()
  for (const work of [async () => 1, async () => { throw new RangeError('x') }]) {
    await withTimeLimit(20_000, signal, (own) => { own.addEventListener('abort', () => {}); return work() }, systemClock).catch(() => {})
    assert.deepEqual(getEventListeners(signal, 'abort'), [])
  }
})

test('many works may wait for one signal', async (t) => {
  const warned = t.mock.method(process, 'emitWarning', () => {})
  const caller = new AbortController()
  const works = Array.from({ length: 20 }, () => withTimeLimit(20_000, caller.signal, untilAborted, systemClock))
  caller.abort(new Error('stopped'))
  const results = await Promise.allSettled(works)
  assert.deepEqual([results.every(({ status }) => status === 'rejected'), warned.mock.callCount()], [true, 0])
})
