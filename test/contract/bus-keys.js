import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readBackwards } from '../../src/documents/history.js'
import { waitFor } from '../helpers/wait.js'
import { arrived, entry, fresh, of, offsets, range, texts } from './bus-fixture.js'

/** @param {string} guid @param {number} text @param {string} [key] */
const keyed = (guid, text, key) => entry(guid, text, { key })

/** @param {string} guid @param {number} bytes of the value */
const sized = (guid, bytes) => entry(guid, 0, { value: Buffer.alloc(bytes, '1') })

/**
 * Records with keys, and logs whose bytes are limited.
 * @param {import('./bus-fixture.js').Fixture} fixture
 */
export function keysContract (fixture) {
  /**
   * @param {import('./bus-fixture.js').Fixture['pair']} pair
   * @param {string} guid
   * @param {import('../../src/wire/position.js').Position} since
   * @param {number} [limit]
   */
  const read = async ({ second }, guid, since, limit = 100) => {
    const { records, gap, position } = await second.history(guid, since, limit)
    return { texts: texts(records), offsets: offsets(records), after: records.map(({ after }) => after), gap, position }
  }

  describe('records with keys', () => {
    test('of each key the log keeps the newest record; all are delivered, and every position can be resumed', async () => {
      const { pair } = fixture
      const guid = fresh()
      const start = await pair.first.subscribe(guid)
      const published = await pair.publisher.publish([
        keyed(guid, 1, 'a'), keyed(guid, 2, 'b'), keyed(guid, 3), keyed(guid, 4, 'a'), keyed(guid, 5, 'a'),
        keyed(guid, 6, 'b'), keyed(guid, 7, 'c')
      ])
      assert.deepEqual(published.map(({ position }) => position?.offset), range(7, 1))
      await arrived(pair.one, guid, 7)
      assert.deepEqual(offsets(of(pair.one, guid)), range(7, 1))
      const end = { ...start, offset: 7 }
      const kept = [3, 5, 6, 7]
      for (const offset of range(8)) {
        const rest = kept.filter((at) => at > offset)
        const found = await read(pair, guid, { ...start, offset })
        assert.deepEqual([found.texts, found.offsets, found.gap, found.position], [rest, rest, null, end])
        // each record tells where the one before it is, or the position
        const before = [offset, ...rest].slice(0, rest.length)
        assert.deepEqual(found.after, rest.map((at, i) => at === before[i] + 1 ? undefined : before[i]), `${offset}`)
      }
      assert.deepEqual(await read(pair, guid, start, 2), {
        texts: [3, 5], offsets: [3, 5], after: [0, 3], gap: null, position: end
      })
    })

    test('a record replaced many times leaves no gap, also in another call and without a log before', async () => {
      const { pair } = fixture
      const guid = fresh()
      const [{ position }] = await pair.publisher.publish([keyed(guid, 1, 'first')])
      for (let i = 2; i <= 300; i++) await pair.publisher.publish([keyed(guid, i, `k${i % 3}`)])
      const start = { epoch: position?.epoch ?? '', offset: 0 }
      const { texts, gap } = await read(pair, guid, start)
      assert.deepEqual([texts, gap], [[1, 298, 299, 300], null])
      for (const offset of [1, 2, 150, 297])
        assert.deepEqual((await read(pair, guid, { ...start, offset })).texts, [298, 299, 300])
    })

    test('begin in a log that has records without keys', async () => {
      const { pair } = fixture
      const guid = fresh()
      const start = await pair.first.subscribe(guid)
      await pair.publisher.publish(range(5, 1).map((i) => keyed(guid, i)))
      await pair.publisher.publish([keyed(guid, 6, 'a'), keyed(guid, 7), keyed(guid, 8, 'a')])
      assert.deepEqual((await read(pair, guid, start)).texts, [1, 2, 3, 4, 5, 7, 8])
    })

    test('a log with keys is trimmed: positions before its beginning are a gap, positions in a hole are not', async () => {
      const small = await fixture.open({ size: 4, ttl: 60 })
      try {
        const guid = fresh()
        const start = await small.first.subscribe(guid)
        await small.publisher.publish([keyed(guid, 1, 'a'), keyed(guid, 2, 'b'), keyed(guid, 3, 'b'), keyed(guid, 4, 'b')])
        assert.deepEqual((await read(small, guid, start)).texts, [1, 4])
        await small.publisher.publish(range(3, 5).map((i) => keyed(guid, i)))
        // 1 was the oldest of five, and 2 and 3 were replaced after it
        for (const [offset, gap] of /** @type {const} */ ([[0, 'trimmed'], [1, null], [2, null], [3, null], [4, null]]))
          assert.equal((await read(small, guid, { ...start, offset })).gap, gap, `since ${offset}`)
        assert.deepEqual((await read(small, guid, { ...start, offset: 2 })).texts, [4, 5, 6, 7])
        // a key whose record was trimmed begins again
        await small.publisher.publish([keyed(guid, 8, 'a'), keyed(guid, 9, 'b')])
        assert.deepEqual((await read(small, guid, { ...start, offset: 5 })).texts, [6, 7, 8, 9])
        assert.equal((await read(small, guid, { ...start, offset: 4 })).gap, 'trimmed')
      } finally {
        await small.stop()
      }
    })

    test('a log with keys that is cut forgets the keys, and has no gap after the cut', async () => {
      const { pair } = fixture
      const guid = fresh()
      const start = await pair.first.subscribe(guid)
      await pair.publisher.publish(['a', 'b', 'b', 'b', 'c', 'b'].map((key, i) => keyed(guid, i + 1, key)))
      const end = { ...start, offset: 6 }
      assert.deepEqual(await pair.publisher.cut(guid, { ...start, offset: 3 }), { position: end, removed: 1 })
      assert.deepEqual((await read(pair, guid, { ...start, offset: 2 })).gap, 'trimmed')
      assert.deepEqual((await read(pair, guid, { ...start, offset: 3 })).texts, [5, 6])
      await pair.publisher.publish([keyed(guid, 7, 'a'), keyed(guid, 8, 'c'), keyed(guid, 9, 'a')])
      for (const offset of [3, 4, 5]) assert.deepEqual((await read(pair, guid, { ...start, offset })).texts, [6, 8, 9])
      const last = { ...start, offset: 9 }
      assert.deepEqual(await pair.publisher.cut(guid, last), { position: last, removed: 3 })
      assert.deepEqual((await read(pair, guid, { ...start, offset: 9 })).gap, null)
      assert.deepEqual((await read(pair, guid, { ...start, offset: 8 })).gap, 'trimmed')
      await pair.publisher.publish([keyed(guid, 10, 'a'), keyed(guid, 11, 'a')])
      assert.deepEqual((await read(pair, guid, { ...start, offset: 9 })).texts, [11])
    })

    test('a log with keys that expires begins again behind its end', async () => {
      const limits = { size: 100, ttl: 60 }
      const short = await fixture.open(limits)
      try {
        const guid = fresh()
        const start = await short.first.subscribe(guid)
        await short.publisher.publish([keyed(guid, 1, 'a'), keyed(guid, 2, 'a'), keyed(guid, 3, 'b')])
        assert.deepEqual((await read(short, guid, start)).texts, [2, 3])
        limits.ttl = 1
        await short.publisher.publish([keyed(guid, 4, 'b')])
        limits.ttl = 60
        await waitFor(async () => (await read(short, guid, start)).gap === 'trimmed', { message: 'the log to expire' })
        await short.publisher.publish([keyed(guid, 5, 'a'), keyed(guid, 6, 'b'), keyed(guid, 7, 'b')])
        assert.deepEqual((await read(short, guid, { ...start, offset: 4 })).texts, [5, 7])
        assert.deepEqual((await read(short, guid, { ...start, offset: 3 })).gap, 'trimmed')
      } finally {
        await short.stop()
      }
    })

    test('keys have no effect where the limits say so, and on ephemeral publications', async () => {
      const limits = { size: 100, ttl: 60, keys: false }
      const other = await fixture.open(limits)
      try {
        const guid = fresh()
        const start = await other.first.subscribe(guid)
        await other.publisher.publish([keyed(guid, 1, 'a'), keyed(guid, 2, 'a')])
        assert.deepEqual((await read(other, guid, start)).texts, [1, 2])
        limits.keys = true
        await other.publisher.publish([keyed(guid, 3, 'a'), entry(guid, 0, { key: 'a', ephemeral: true })])
        await other.publisher.publish([keyed(guid, 4, 'a'), keyed(guid, 5, 'b')])
        const { texts } = await read(other, guid, start)
        assert.deepEqual(texts.filter((text) => text > 2), [4, 5])
      } finally {
        await other.stop()
      }
    })

    test('are read backwards page by page, across wide holes, and the pages connect', async () => {
      const { pair } = fixture
      const guid = fresh()
      await pair.publisher.publish([keyed(guid, 1, 'title')])
      await pair.publisher.publish(range(4, 2).map((i) => keyed(guid, i)))
      for (let i = 0; i < 5; i++) await pair.publisher.publish(range(100, 6 + 100 * i).map((n) => keyed(guid, n, 'cursor')))
      await pair.publisher.publish(range(20, 506).map((n) => keyed(guid, n)))
      const kept = [...range(5, 1), 505, ...range(20, 506)]
      for (const limit of [1, 3, 16, 26, 100]) {
        /** @type {number[]} */
        const found = []
        let next = 525
        let reads = 0
        const bus = {
          positions: pair.second.positions,
          history: (/** @type {Parameters<typeof pair.second.history>} */ ...args) => {
            reads++
            return pair.second.history(...args)
          }
        }
        for (let pages = 0; next > 0; pages++) {
          assert.ok(pages < 30)
          const { records, more } = await readBackwards(bus, guid, { before: next + 1, limit })
          assert.equal(records.at(-1)?.offset, next, `limit ${limit}`)
          found.unshift(...offsets(records))
          next = records[0].after ?? records[0].offset - 1
          assert.equal(more, next > 0)
        }
        assert.deepEqual(found, kept, `limit ${limit}`)
        // 500 offsets without a record, of 16 each, would be 31 reads
        assert.ok(limit < 16 || reads < 20, `${reads} reads`)
      }
      const within = await readBackwards(pair.second, guid, { before: 300, limit: 2 })
      assert.deepEqual([offsets(within.records), within.more], [[4, 5], true])
    })
  })

  describe('a limit of bytes', () => {
    test('removes the oldest records, and never the newest', async () => {
      const small = await fixture.open({ size: 100, ttl: 60, bytes: 1000 })
      try {
        const guid = fresh()
        const start = await small.first.subscribe(guid)
        await small.publisher.publish(range(4).map(() => sized(guid, 300)))
        assert.deepEqual((await read(small, guid, start)).gap, 'trimmed')
        assert.deepEqual((await read(small, guid, { ...start, offset: 1 })).offsets, [2, 3, 4])
        await small.publisher.publish([sized(guid, 5000)])
        assert.deepEqual((await read(small, guid, { ...start, offset: 4 })).offsets, [5])
        assert.deepEqual((await read(small, guid, { ...start, offset: 3 })).gap, 'trimmed')
        await small.publisher.publish([sized(guid, 100), sized(guid, 900)])
        assert.deepEqual((await read(small, guid, { ...start, offset: 5 })).offsets, [6, 7])
      } finally {
        await small.stop()
      }
    })

    test('counts a record no longer that a newer one of its key has replaced', async () => {
      const small = await fixture.open({ size: 100, ttl: 60, bytes: 1000 })
      try {
        const guid = fresh()
        const start = await small.first.subscribe(guid)
        await small.publisher.publish([sized(guid, 100)])
        for (let i = 0; i < 50; i++) {
          await small.publisher.publish([entry(guid, 0, { value: Buffer.alloc(400, '1'), key: 'a' })])
        }
        assert.deepEqual((await read(small, guid, start)).offsets, [1, 51])
      } finally {
        await small.stop()
      }
    })

    test('that is set later, changed and removed again is in force with the next record', async () => {
      /** @type {import('../../src/log/bus/contract.js').HistoryLimits} */
      const limits = { size: 200, ttl: 60 }
      const changing = await fixture.open(limits)
      try {
        const guid = fresh()
        const start = await changing.first.subscribe(guid)
        await changing.publisher.publish(range(100).map(() => sized(guid, 100)))
        assert.equal((await read(changing, guid, start, 200)).offsets.length, 100)
        limits.bytes = 1000
        await changing.publisher.publish([sized(guid, 100)])
        assert.deepEqual((await read(changing, guid, { ...start, offset: 91 })).offsets, range(10, 92))
        assert.equal((await read(changing, guid, { ...start, offset: 90 })).gap, 'trimmed')
        limits.bytes = 0
        await changing.publisher.publish(range(20).map(() => sized(guid, 100)))
        assert.deepEqual((await read(changing, guid, { ...start, offset: 91 })).offsets, range(30, 92))
        limits.size = 5
        await changing.publisher.publish([sized(guid, 100)])
        assert.deepEqual((await read(changing, guid, { ...start, offset: 117 })).offsets, range(5, 118))
        limits.bytes = 250
        await changing.publisher.publish([sized(guid, 100)])
        assert.deepEqual((await read(changing, guid, { ...start, offset: 121 })).offsets, [122, 123])
      } finally {
        await changing.stop()
      }
    })
  })
}
