import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { LagMonitor } from '../../../src/kafka/lag.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {import('../../../src/kafka/lag.js').Progress} Progress */

/**
 * @param {import('node:test').TestContext} t
 * @param {{ ends: () => { partition: number, high: number, low: number }[], progress: () => [number, Progress][],
 *   committed?: Record<number, number> }} options
 */
function monitor (t, { ends, progress, committed = {} }) {
  const told = {
    /** @type {[number, number][]} */
    lags: [],
    /** @type {[number, number][]} */
    stuck: [],
    polls: 0,
    connections: 0
  }
  const inspector = {
    ends: async () => {
      told.polls++
      return ends()
    },
    committed: async () =>
      Object.entries(committed).map(([partition, offset]) => ({ partition: Number(partition), offset, metadata: '' })),
    close () {}
  }
  const inspect = async () => {
    told.connections++
    return inspector
  }
  const lag = new LagMonitor({
    kafka: { inspect },
    settings: { topic: 't', groupId: 'g' },
    interval: 1,
    progress: () => new Map(progress()),
    onLag: (...args) => told.lags.push(args),
    onStuck: (...args) => told.stuck.push(args),
    log: recordingLog().log,
    clock: systemClock
  })
  t.after(() => lag.stop())
  lag.start()
  return told
}

const end = (/** @type {number} */ partition, /** @type {number} */ high, low = 0) => ({ partition, high, low })

test('the lag of each assigned partition is reported, from its progress or its committed offset', async (t) => {
  const told = monitor(t, {
    ends: () => [end(0, 100), end(1, 50), end(2, 30, 20), end(3, 9)],
    progress: () => [
      [0, { next: 90, busy: false }],
      [1, { next: undefined, busy: false }],
      [2, { next: undefined, busy: false }]
    ],
    committed: { 1: 45, 2: -1 }
  })
  await waitFor(() => told.lags.length >= 3)
  assert.deepEqual(told.lags.slice(0, 3), [[0, 10], [1, 5], [2, 10]])
})

test('a partition with records but without progress is stuck; one with progress, a busy one or an empty one is not', async (t) => {
  let next = 0
  const told = monitor(t, {
    ends: () => [end(0, 1000), end(1, 1000), end(2, 1000), end(3, 7)],
    progress: () => [
      [0, { next: 7, busy: false }],
      [1, { next: next++, busy: false }],
      [2, { next: 7, busy: true }],
      [3, { next: 7, busy: false }]
    ]
  })
  await waitFor(() => told.stuck.length > 0)
  assert.ok(told.polls >= 7, `after ${told.polls} polls`)
  await waitFor(() => told.polls > 20)
  assert.ok(told.stuck.every(([partition, offset]) => partition === 0 && offset === 7))
})

test('it continues after a failure, with a new connection', async (t) => {
  let fail = true
  const told = monitor(t, {
    ends: () => {
      if (fail) throw new Error('Kafka is unavailable')
      return [end(0, 3)]
    },
    progress: () => [[0, { next: 1, busy: false }]]
  })
  await waitFor(() => told.polls > 2)
  fail = false
  await waitFor(() => told.lags.length > 0)
  assert.ok(told.connections > 2)
})
