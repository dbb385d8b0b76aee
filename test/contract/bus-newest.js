import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { waitFor } from '../helpers/wait.js'
import { entry, fresh, offsets, range, texts } from './bus-fixture.js'

/**
 * The newest records of a log, for clients that begin with them.
 * @param {import('./bus-fixture.js').Fixture} fixture
 */
export function newestContract (fixture) {
  describe('the newest records', () => {
    test('are the last ones in order, the first of them if they are limited, and all if there are fewer', async () => {
      const { pair } = fixture
      const guid = fresh()
      const start = await pair.first.subscribe(guid)
      assert.deepEqual(await pair.second.newest(guid, 5, 100), { position: start, records: [], gap: null })
      await pair.publisher.publish(range(50, 1).map((i) => entry(guid, i)))
      for (const [count, limit, expected] of /** @type {const} */ ([
        [1, 100, [50]], [7, 100, range(7, 44)], [7, 2, [44, 45]], [50, 100, range(50, 1)], [1000, 100, range(50, 1)]
      ])) {
        const { position, records, gap } = await pair.second.newest(guid, count, limit)
        assert.deepEqual([texts(records), offsets(records)], [expected, expected], `${count}, at most ${limit}`)
        assert.deepEqual([position, gap], [{ ...start, offset: 50 }, null])
        assert.ok(records.every(({ epoch, after, ingestedAt }) =>
          epoch === start.epoch && after === undefined && ingestedAt > 0))
      }
    })

    test('are the newest of each key, and those without one, where newer records have replaced others', async () => {
      const { pair } = fixture
      const guid = fresh()
      await pair.publisher.publish([entry(guid, 1, { key: 'first' }), entry(guid, 2)])
      for (let i = 3; i <= 100; i++) await pair.publisher.publish([entry(guid, i, { key: `key ${i % 40}` })])
      const kept = [1, 2, ...range(40, 61)]
      for (const count of [1, 16, 17, 39, 40, 41, 42, 43, 500]) {
        const { records } = await pair.second.newest(guid, count, 1000)
        assert.deepEqual(texts(records), kept.slice(-count), `${count}`)
        // the first one follows its place at once; each further one tells where the one before it is
        assert.deepEqual(records.map(({ after }) => after), records.map(({ offset }, i) =>
          i === 0 || records[i - 1].offset === offset - 1 ? undefined : records[i - 1].offset))
      }
    })

    test('continue with the records after them, also where the log was trimmed or cut', async () => {
      const small = await fixture.open({ size: 20, ttl: 60 })
      try {
        const guid = fresh()
        // large enough for Redis to trim exactly
        const value = Buffer.alloc(5000, 'x')
        await small.publisher.publish(range(60, 1).map(() => entry(guid, 0, { value })))
        const { position, records } = await small.first.newest(guid, 1000, 8)
        assert.deepEqual(offsets(records), range(8, 41))
        const rest = await small.first.history(guid, { ...position, offset: 48 }, 100)
        assert.deepEqual([rest.gap, offsets(rest.records)], [null, range(12, 49)])
        await small.publisher.cut(guid, { ...position, offset: 58 })
        assert.deepEqual(offsets((await small.first.newest(guid, 10, 100)).records), [59, 60])
        await small.publisher.cut(guid, position)
        assert.deepEqual(await small.first.newest(guid, 10, 100), { position, records: [], gap: null })
        await small.publisher.publish([entry(guid, 61)])
        assert.deepEqual(offsets((await small.first.newest(guid, 10, 100)).records), [61])
      } finally {
        await small.stop()
      }
    })

    test('are none once the log has expired', async () => {
      const short = await fixture.open({ size: 100, ttl: 1 })
      try {
        const guid = fresh()
        const [{ position }] = await short.publisher.publish([entry(guid, 1)])
        await waitFor(async () => (await short.first.newest(guid, 5, 100)).records.length === 0, { message: 'the log to expire' })
        assert.deepEqual((await short.first.newest(guid, 5, 100)).position, position)
      } finally {
        await short.stop()
      }
    })
  })
}
