import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryRequests, LEASE } from '../../src/api/idempotency/memory-requests.js'
import { systemClock } from '../../src/common/clock.js'
import { manualClock } from '../helpers/manual-clock.js'
import { requestsContract } from './requests.js'

const shared = createMemoryRequests({ clock: systemClock })
requestsContract('memory', () => [shared, shared])

test('in memory, a request that takes too long may be retried, and after 15 minutes a key is new', async () => {
  const clock = manualClock()
  const requests = createMemoryRequests({ clock })
  await requests.begin('a', 'f', 't1')
  clock.advance(LEASE - 1)
  assert.deepEqual(await requests.begin('a', 'f', 't2'), { state: 'busy' })
  clock.advance(1)
  assert.deepEqual(await requests.begin('a', 'f', 't2'), { state: 'new', traceId: 't1' })
  await requests.finish('a', 'f', '{}')
  clock.advance(899_999)
  assert.deepEqual(await requests.begin('a', 'f', 't3'), { state: 'done', answer: '{}' })
  clock.advance(1)
  assert.deepEqual(await requests.begin('a', 'g', 't3'), { state: 'new', traceId: 't3' })
})

test('in memory, a request that was refused too late leaves the one that replaced it', async () => {
  const clock = manualClock()
  const requests = createMemoryRequests({ clock })
  await requests.begin('a', 'f', 't1')
  clock.advance(LEASE)
  await requests.begin('a', 'f', 't2')
  await requests.forget('a')
  assert.deepEqual(await requests.begin('a', 'g', 't3'), { state: 'other' })
})

test('in memory, the oldest request is dropped above the maximum', async () => {
  const requests = createMemoryRequests({ clock: manualClock(), maxRequests: 2 })
  for (const id of ['a', 'b', 'c']) await requests.begin(id, 'f', id)
  assert.deepEqual(await Promise.all(['c', 'b'].map((id) => requests.begin(id, 'f', 't'))), [
    { state: 'busy' },
    { state: 'busy' }
  ])
  assert.deepEqual(await requests.begin('a', 'f', 't'), { state: 'new', traceId: 't' })
})
