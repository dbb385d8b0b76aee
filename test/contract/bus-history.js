import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { waitFor } from '../helpers/wait.js'
import { entry, fresh, offsets, range, texts } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function historyContract (fixture) {
  describe('history', () => {
    test('returns the records after a position, at most the requested number', async () => {
      const guid = fresh()
      const start = await fixture.pair.first.subscribe(guid)
      await fixture.pair.publisher.publish(range(50, 1).map((i) => entry(guid, i)))
      const end = { epoch: start.epoch, offset: 50 }
      for (const [since, limit, expected] of [
        [0, 100, range(50, 1)],
        [0, 7, range(7, 1)],
        [43, 7, range(7, 44)],
        [43, 8, range(7, 44)],
        [49, 1, [50]],
        [50, 10, []],
        [0, 0, []]
      ]) {
        const history = await fixture.pair.second.history(
          guid,
          { ...start, offset: /** @type {number} */ (since) },
          /** @type {number} */ (limit)
        )
        assert.deepEqual(texts(history.records), expected, `since ${since}, ${limit} at most`)
        assert.deepEqual(offsets(history.records), expected)
        assert.deepEqual([history.position, history.gap], [end, null])
        assert.ok(history.records.every((record) => record.epoch === start.epoch && record.ingestedAt > 0))
      }
    })

    test('returns the gap epoch for positions that this log never assigned', async () => {
      const guid = fresh()
      const start = await fixture.pair.first.subscribe(guid)
      await fixture.pair.publisher.publish([entry(guid, 1), entry(guid, 2)])
      const strange = [
        { epoch: 'other', offset: 1 }, { epoch: '', offset: 0 }, { ...start, offset: 3 }, { ...start, offset: 1e15 },
        { ...start, offset: -1 }, { ...start, offset: NaN }, { ...start, offset: 1e300 }, { ...start, offset: 0.5 }
      ]
      for (const since of strange) {
        assert.deepEqual(
          await fixture.pair.first.history(guid, since, 10),
          { position: { ...start, offset: 2 }, records: [], gap: 'epoch' },
          JSON.stringify(since)
        )
      }
    })

    test('creates the log of a document without one', async () => {
      const guid = fresh()
      const { position, records, gap } = await fixture.pair.first.history(guid, { epoch: 'gone', offset: 4 }, 10)
      assert.deepEqual([position.offset, records, gap], [0, [], 'epoch'])
      assert.deepEqual(await fixture.pair.second.subscribe(guid), position)
    })

    test('is trimmed to its size', async () => {
      const small = await fixture.open({ size: 20, ttl: 60 })
      try {
        const guid = fresh()
        const start = await small.first.subscribe(guid)
        // large enough for Redis to trim exactly: it drops whole nodes, and a node holds one record of this size
        const value = Buffer.alloc(5000, 'x')
        for (let i = 0; i < 6; i++) await small.publisher.publish(range(10).map(() => entry(guid, 0, { value })))
        const end = { ...start, offset: 60 }
        assert.deepEqual(await small.first.history(guid, { ...start, offset: 20 }, 100), {
          position: end,
          records: [],
          gap: 'trimmed'
        })
        assert.deepEqual(await small.first.history(guid, start, 100), { position: end, records: [], gap: 'trimmed' })
        const kept = await small.first.history(guid, { ...start, offset: 40 }, 100)
        assert.deepEqual([offsets(kept.records), kept.gap], [range(20, 41), null])
      } finally {
        await small.stop()
      }
    })

    test('expires, while position and origins stay', async () => {
      const limits = { size: 100, ttl: 60 }
      const short = await fixture.open(limits)
      try {
        const guid = fresh()
        const start = await short.first.subscribe(guid)
        const offered = { ...entry(guid, 1), origin: { source: 's', sequence: 9 } }
        await short.publisher.publish([offered, entry(guid, 2)])
        assert.equal((await short.first.history(guid, start, 10)).records.length, 2)
        limits.ttl = 1
        const [{ position: end }] = await short.publisher.publish([entry(guid, 3)])
        assert.deepEqual(end, { ...start, offset: 3 })
        limits.ttl = 60
        const gone = await waitFor(async () => {
          const history = await short.first.history(guid, start, 10)
          return history.gap !== null && history
        }, { message: 'the log to expire' })
        assert.deepEqual(gone, { position: end, records: [], gap: 'trimmed' })
        assert.deepEqual(await short.first.history(guid, end, 10), { position: end, records: [], gap: null })
        assert.deepEqual(await short.second.positions([guid]), [end])
        assert.equal((await short.publisher.publish([offered]))[0].duplicate, true)
        assert.deepEqual((await short.publisher.publish([entry(guid, 4)]))[0].position, { ...start, offset: 4 })
        const next = await short.first.history(guid, end, 10)
        assert.deepEqual([texts(next.records), next.gap], [[4], null])
        assert.equal((await short.first.history(guid, { ...start, offset: 2 }, 10)).gap, 'trimmed')
      } finally {
        await short.stop()
      }
    })

    test('can be read in pages while records are published', async () => {
      const guid = fresh()
      let position = await fixture.pair.first.subscribe(guid)
      await fixture.pair.publisher.publish(range(30, 1).map((i) => entry(guid, i)))
      /** @type {number[]} */
      const seen = []
      for (let i = 31; seen.length < 60; i++) {
        if (i <= 60) await fixture.pair.publisher.publish([entry(guid, i)])
        const { records, gap } = await fixture.pair.second.history(guid, position, 4)
        assert.equal(gap, null)
        seen.push(...texts(records))
        position = { ...position, offset: records.at(-1)?.offset ?? position.offset }
      }
      assert.deepEqual(seen, range(60, 1))
    })
  })

  describe('positions', () => {
    test('are returned in the requested order; without a log that of an empty one', async () => {
      const guids = range(30).map(() => fresh())
      const expected = await Promise.all(guids.map(async (guid, i) => {
        if (i % 3 === 0) return null
        if (i % 3 === 1) return fixture.pair.first.subscribe(guid)
        return (await fixture.pair.publisher.publish(range(i).map((n) => entry(guid, n)))).at(-1)?.position
      }))
      const ends = await fixture.pair.second.positions(guids)
      assert.equal(ends.length, guids.length)
      for (const [i, end] of ends.entries()) {
        if (expected[i] !== null) assert.deepEqual(end, expected[i])
        else assert.deepEqual(end, await fixture.pair.first.subscribe(guids[i]))
      }
      assert.deepEqual(await fixture.pair.second.positions([]), [])
    })

    test('are returned for 1,200 documents at once', async () => {
      const { first } = fixture.pair
      const guids = range(1200).map(() => fresh())
      const expected = await Promise.all(guids.map((guid) => first.subscribe(guid)))
      assert.deepEqual(await first.positions(guids), expected)
      for (const guid of guids) await first.unsubscribe(guid)
    })

    test('may be changed by the caller', async () => {
      const guid = fresh()
      const mine = await fixture.pair.first.subscribe(guid)
      mine.offset = 99
      mine.epoch = 'mine'
      const [theirs] = await fixture.pair.first.positions([guid])
      assert.equal(theirs?.offset, 0)
      assert.notEqual(theirs?.epoch, 'mine')
    })
  })
}
