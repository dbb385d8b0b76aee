import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createLanes } from '../../../src/ingest/lanes.js'

const clock = {
  now: Date.now,
  sleep: async (/** @type {number} */ _ms, /** @type {AbortSignal | undefined} */ signal) => signal?.throwIfAborted()
}
const never = new AbortController().signal

/**
 * @param {number} index
 * @param {{ operator?: string, guid?: string, bytes?: number }} [options]
 * @returns {import('../../../src/ingest/router.js').Routed}
 */
const routed = (index, { operator = 'broadcast', guid = 'd', bytes = 10 } = {}) => ({
  index,
  entry: {
    origin: { source: 't/0', sequence: index },
    publication: /** @type {any} */ ({ operator, guid, value: Buffer.alloc(bytes) })
  }
})

/**
 * @param {(indices: number[], call: number) => void | Promise<void>} publish
 */
function lanesOver (publish) {
  const told = {
    /** @type {number[]} */
    published: [],
    /** @type {[number, string][]} */
    refused: [],
    /** @type {number[][]} */
    calls: [],
    retries: 0
  }
  const run = createLanes({
    async publish (entries) {
      const indices = entries.map(({ origin }) => /** @type {{ sequence: number }} */ (origin).sequence)
      told.calls.push(indices)
      await publish(indices, told.calls.length)
      return entries.map(() => ({ position: null, duplicate: false }))
    },
    onPublished: ({ index }) => told.published.push(index),
    refuse: async ({ index }, error) => { told.refused.push([index, error.code]) },
    onRetry: () => { told.retries++ },
    clock,
    random: systemRandom
  })
  return { run, told }
}

const range = (/** @type {number} */ from, /** @type {number} */ to) =>
  Array.from({ length: to - from }, (_, i) => from + i)

test('a lane is published in order, in chunks of at most 64 records or 1 MB', async () => {
  const { run, told } = lanesOver(() => {})
  await run([range(0, 130).map((index) => routed(index))], never)
  assert.deepEqual(told.calls.map((call) => call.length), [64, 64, 2])
  assert.deepEqual(told.published, range(0, 130))

  const large = lanesOver(() => {})
  await large.run([range(0, 5).map((index) => routed(index, { bytes: index === 2 ? 3 * 2 ** 20 : 600_000 }))], never)
  assert.deepEqual(large.told.calls, [[0], [1], [2], [3], [4]])
})

test('a revoke completes before the records that follow it are published', async () => {
  const { run, told } = lanesOver(() => {})
  await run(
    [range(0, 6).map((index) => routed(index, { operator: index === 0 || index === 3 ? 'revoke' : 'broadcast' }))],
    never
  )
  assert.deepEqual(told.calls, [[0], [1, 2], [3], [4, 5]])
})

test('a kick that is retried does not repeat the message before it', async () => {
  const { run, told } = lanesOver((indices, call) => {
    if (indices.includes(1) && call <= 4) throw new InkcastError('timeout')
  })
  await run([[routed(0, { operator: 'user' }), routed(1, { operator: 'kick' })]], never)
  assert.deepEqual(told.calls, [[0], [1], [1], [1], [1]])
})

test('at most 64 lanes are published at once', async () => {
  let running = 0
  let most = 0
  const { run, told } = lanesOver(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => { setImmediate(resolve) })
    running--
  })
  await run(range(0, 300).map((index) => [routed(index, { guid: `d${index}` })]), never)
  assert.equal(most, 64)
  assert.equal(told.published.length, 300)
})

test('records that the bus rejects for now are retried unchanged, and later ones wait', async () => {
  const { run, told } = lanesOver((_indices, call) => {
    if (call >= 2 && call <= 20) throw new InkcastError(call % 2 ? 'timeout' : 'unavailable')
  })
  await run([range(0, 130).map((index) => routed(index))], never)
  assert.deepEqual(told.calls.slice(1, 21), Array(20).fill(range(64, 128)))
  assert.deepEqual(told.published, range(0, 130))
  assert.equal(told.retries, 19)
})

test('a record that the bus can never accept goes to the dead letters, alone', async () => {
  const { run, told } = lanesOver((indices) => {
    if (indices.includes(3)) throw new InkcastError('value_too_large')
  })
  await run([range(0, 6).map((index) => routed(index))], never)
  assert.deepEqual(told.refused, [[3, 'value_too_large']])
  assert.deepEqual(told.published, [0, 1, 2, 4, 5])
})

test('a record that triggers a defect goes to the dead letters after some attempts', async () => {
  const { run, told } = lanesOver((indices) => {
    if (indices.includes(1)) throw new TypeError('undefined is not a function')
  })
  await run([range(0, 3).map((index) => routed(index))], never)
  assert.deepEqual(told.refused, [[1, 'internal']])
  assert.deepEqual(told.published, [0, 2])
  assert.deepEqual(told.calls.slice(0, 5), Array(5).fill([0, 1, 2]))
})

test('after an abort it ends, and the rest is not published', async () => {
  const abort = new AbortController()
  const { run, told } = lanesOver((indices, call) => {
    if (call === 3) abort.abort()
    if (indices.includes(64)) throw new InkcastError('unavailable')
  })
  await run([range(0, 130).map((index) => routed(index)), [routed(500, { guid: 'e' })]], abort.signal)
  assert.ok(!told.published.includes(64))
  assert.ok(told.calls.length <= 4, `${told.calls.length} calls`)
})
