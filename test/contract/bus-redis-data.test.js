import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { BACKENDS } from '../helpers/backends.js'
import { waitFor } from '../helpers/wait.js'
import { arrived, createFixture, entry, fresh, of, offsets, range, texts } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const { documentChannel, documentLog, documentMeta, documentNewest, queueMarks, workerChannel } = createKeys()

/**
 * Data in Redis: bounds, expiry, and the handling of lost, restored and foreign data.
 */
for (const [name, url] of BACKENDS) {
  describe(`data of the bus in ${name}`, () => {
    /** @type {Awaited<ReturnType<typeof createRedisPair>>} */
    let redisPair
    const fixture = createFixture((options) => createRedisPair(url(), options))
    before(async () => {
      await fixture.start()
      redisPair = /** @type {typeof redisPair} */ (/** @type {unknown} */ (fixture.pair))
    })
    after(() => fixture.stop())
    const client = () => redisPair.connections[0].client

    test('records expire with the history, which a later one renews, the position and the origins after a week', async () => {
      const guid = fresh()
      await fixture.pair.publisher.publish([entry(guid, 1)])
      await client().expire(documentLog(guid), 5)
      await fixture.pair.publisher.publish([entry(guid, 2)])
      const [log, meta] = [await client().ttl(documentLog(guid)), await client().ttl(documentMeta(guid))]
      assert.ok(log > 50 && log <= 60, `log ${log} s`)
      assert.ok(meta > 7 * 86_400 - 10 && meta <= 7 * 86_400, `meta ${meta} s`)
    })

    test('marks of queues expire 30 days after the last edit, in every document, also if the document has 256 queues', async () => {
      const month = 30 * 86_400
      const { publisher } = fixture.pair
      for (const [guid, queues] of /** @type {const} */ ([[fresh(), 1], [fresh(), 2], [fresh(), 300]])) {
        for (let i = 0; i < queues; i++)
          await publisher.publish([{ ...entry(guid, i), queue: { uid: 'ada', id: `queue-${i}`, number: 1 } }])
        const key = queueMarks(guid, 'ada')
        const left = await client().ttl(key)
        assert.ok(left > month - 60 && left <= month, `${left} s`)
        assert.ok(await client().hlen(key) <= 257)
        await client().expire(key, 100)
        await publisher.noteQueued(guid, { uid: 'ada', id: 'queue-0', number: 2 })
        assert.ok(await client().ttl(key) > month - 60)
      }
    })

    test('a call that is refused because its log waits for healing has delivered nothing', {
      skip: name === 'redis cluster' && 'it heals no logs'
    }, async () => {
      const { pair } = fixture
      const guid = fresh()
      const of0 = (/** @type {number} */ sequence, /** @type {boolean} */ ephemeral) => ({
        ...entry(guid, sequence, { ephemeral }), origin: { source: 't/0', sequence, epoch: 0, healed: 'old' }
      })
      await pair.publisher.publish([of0(1, false)])
      await Promise.all([pair.first.subscribe(guid), pair.second.subscribe(guid)])
      await client().hset(documentMeta(guid), 'g', 'earlier')
      await assert.rejects(
        pair.publisher.publish([of0(2, true), of0(3, false)]), ({ cause }) => /^UNHEALED/.test(cause.message)
      )
      await fixture.flush(guid)
      assert.equal(of(pair.one, guid).length, 1, 'the mark alone')
    })

    test('a subscribe never shortens the lifetime of a document with records', async () => {
      const guid = fresh()
      await fixture.pair.publisher.publish([entry(guid, 1)])
      await fixture.pair.first.subscribe(guid)
      const left = () => client().ttl(documentMeta(guid))
      assert.ok((await left()) > 7 * 86_400 - 10)
      await client().expire(documentMeta(guid), 100)
      await fixture.pair.first.subscribe(guid)
      assert.ok((await left()) > 7 * 86_400 - 10, 'subscribing keeps the position of an idle document alive')
      await client().hset(documentMeta(guid), 'o', '0')
      await fixture.pair.first.subscribe(guid)
      assert.ok((await left()) > 7 * 86_400 - 10, 'a reset log still has its origins')
    })

    test('the log is trimmed to about its size', async () => {
      const pair = await fixture.open({ size: 100, ttl: 60 })
      try {
        const guid = fresh()
        for (let i = 0; i < 20; i++) await pair.publisher.publish(range(50).map((n) => entry(guid, n)))
        const length = await client().xlen(documentLog(guid))
        assert.ok(length >= 100 && length <= 300, `${length} records`)
      } finally {
        await pair.stop()
      }
    })

    test('a log with keys from which something else has removed records begins with its first one', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      const keys = ['a', 'b', undefined, 'b', undefined, 'b', 'b', undefined]
      await publisher.publish(keys.map((key, i) => entry(guid, i + 1, { key })))
      const gapSince = async (/** @type {number} */ offset) =>
        (await first.history(guid, { ...start, offset }, 100)).gap
      assert.equal(await gapSince(0), null)
      // as a process of an earlier version trims it
      await client().xtrim(documentLog(guid), 'MINID', '5-0')
      assert.deepEqual([await gapSince(0), await gapSince(3), await gapSince(4)], ['trimmed', 'trimmed', null])
      assert.deepEqual(texts((await first.history(guid, { ...start, offset: 5 }, 100)).records), [7, 8])
      await publisher.publish([entry(guid, 9, { key: 'b' }), entry(guid, 10, { key: 'a' }), entry(guid, 11, { key: 'a' })])
      assert.deepEqual(texts((await first.history(guid, { ...start, offset: 4 }, 100)).records), [5, 8, 9, 11])
      assert.equal(await gapSince(3), 'trimmed')
      // and as an eviction does
      await client().del(documentLog(guid))
      assert.deepEqual([await gapSince(10), await gapSince(11)], ['trimmed', null])
    })

    test('keys of another log have no effect, and expire with the log', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      await first.subscribe(guid)
      await publisher.publish([entry(guid, 1, { key: 'a' }), entry(guid, 2, { key: 'b' })])
      await client().del(documentMeta(guid))
      const next = await first.subscribe(guid)
      await publisher.publish([entry(guid, 3), entry(guid, 4), entry(guid, 5, { key: 'c' }), entry(guid, 6, { key: 'a' })])
      assert.deepEqual(texts((await first.history(guid, next, 100)).records), [3, 4, 5, 6])
      const left = await client().ttl(documentNewest(guid))
      assert.ok(left > 50 && left <= 60, `${left} s`)
    })

    test('a smaller size removes the records of a counted log in parts, and no call takes long', async () => {
      const limits = { size: 2000, ttl: 60 }
      const pair = await fixture.open(limits)
      try {
        const guid = fresh()
        const start = await pair.first.subscribe(guid)
        await pair.publisher.publish(range(500, 1).map((i) => entry(guid, i, { key: i === 1 ? 'a' : undefined })))
        limits.size = 10
        await pair.publisher.publish([entry(guid, 501)])
        const length = await client().xlen(documentLog(guid))
        assert.ok(length > 400 && length < 500, `${length} records`)
        await pair.publisher.publish(range(10, 502).map((i) => entry(guid, i)))
        assert.equal(await client().xlen(documentLog(guid)), 10)
        assert.equal((await pair.first.history(guid, { ...start, offset: 501 }, 100)).records.length, 10)
        assert.deepEqual(await client().hgetall(documentNewest(guid)), {})
      } finally {
        await pair.stop()
      }
    })

    test('a loss of the meta begins another log, without the records of the old one', async () => {
      const { first, publisher, one } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      await publisher.publish([entry(guid, 'old'), entry(guid, 'older')])
      await client().del(documentMeta(guid))
      const [{ position }] = await publisher.publish([entry(guid, 'new')])
      assert.equal(position?.offset, 1)
      assert.notEqual(position?.epoch, start.epoch)
      assert.equal((await first.history(guid, start, 10)).gap, 'epoch')
      assert.deepEqual(texts((await first.history(guid, { epoch: position?.epoch ?? '', offset: 0 }, 10)).records), [
        'new'
      ])
      await arrived(one, guid, 3)
      assert.deepEqual(
        of(one, guid).map((record) => [record.epoch === start.epoch, record.offset]),
        [
          [true, 1],
          [true, 2],
          [false, 1]
        ]
      )

      await client().del(documentMeta(guid))
      const next = await fixture.pair.second.subscribe(guid)
      assert.deepEqual(await first.history(guid, next, 10), { position: next, records: [], gap: null })
      await publisher.publish([entry(guid, 'newest')])
      assert.deepEqual(texts((await first.history(guid, next, 10)).records), ['newest'])
    })

    test('a log ahead of its meta is replaced by another one, so publishing never fails permanently', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      await publisher.publish(range(5).map((i) => ({ ...entry(guid, i), origin: { source: 's', sequence: i } })))
      await client().hset(documentMeta(guid), 'o', '2')
      const published = await publisher.publish([
        { ...entry(guid, 'a'), origin: { source: 's', sequence: 5 } },
        entry(guid, 'b')
      ])
      assert.deepEqual(published.map(({ position }) => position?.offset), [1, 2])
      assert.notEqual(published[0].position?.epoch, start.epoch)
      assert.equal((await first.history(guid, start, 10)).gap, 'epoch')
      assert.deepEqual(
        texts((await first.history(guid, { epoch: published[0].position?.epoch ?? '', offset: 0 }, 10)).records),
        ['a', 'b']
      )
      assert.equal(
        (await publisher.publish([{ ...entry(guid, 4), origin: { source: 's', sequence: 4 } }]))[0].duplicate,
        true,
        'origins are remembered'
      )
    })

    test('sequences are compatible with earlier versions in both directions', async () => {
      const { publisher } = fixture.pair
      const guid = fresh()
      const offered = (/** @type {number} */ sequence, /** @type {number} */ epoch) => ({
        ...entry(guid, sequence),
        origin: { source: 's', sequence, epoch }
      })
      await publisher.publish([offered(0, 3)])
      // written by an ingest process of an earlier version
      await client().hset(documentMeta(guid), 's:s', '20')
      const published = [...(await publisher.publish([offered(20, 3)])), ...(await publisher.publish([offered(21, 3)]))]
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [true, false])
      const stored = Number(await client().hget(documentMeta(guid), 's:s'))
      assert.ok(stored >= 21 && stored < 22, `${stored}: read as a number, 21 is known and 22 is new`)
    })

    test('history reports a log that is lost or has a hole', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      await publisher.publish(range(40, 1).map((i) => entry(guid, i)))
      await client().xdel(documentLog(guid), '20-0')
      const at = (/** @type {number} */ offset) => ({ ...start, offset })
      assert.equal((await first.history(guid, at(10), 100)).gap, 'trimmed')
      assert.deepEqual(offsets((await first.history(guid, at(10), 9)).records), range(9, 11))
      assert.deepEqual(offsets((await first.history(guid, at(20), 100)).records), range(20, 21))
      await client().xdel(documentLog(guid), '40-0')
      assert.deepEqual((await first.history(guid, at(30), 100)).gap, 'trimmed')
      await client().del(documentLog(guid))
      assert.deepEqual(await first.history(guid, at(39), 10), { position: at(40), records: [], gap: 'trimmed' })
      assert.deepEqual((await publisher.publish([entry(guid, 41)]))[0].position, at(41))
      assert.deepEqual(offsets((await first.history(guid, at(40), 10)).records), [41])
    })

    test('the newest records begin after a hole, and are none if the end of the log is lost', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      await publisher.publish(range(40, 1).map((i) => entry(guid, i)))
      await client().xdel(documentLog(guid), '20-0')
      assert.deepEqual(offsets((await first.newest(guid, 100, 100)).records), range(20, 21))
      assert.deepEqual(offsets((await first.newest(guid, 30, 100)).records), range(20, 21))
      assert.deepEqual(offsets((await first.newest(guid, 5, 100)).records), range(5, 36))
      await client().xdel(documentLog(guid), '40-0')
      assert.deepEqual(await first.newest(guid, 5, 100), { position: { ...start, offset: 40 }, records: [], gap: null })
      await client().del(documentLog(guid))
      assert.deepEqual((await first.newest(guid, 5, 100)).records, [])
    })

    test('reads during live delivery do not count as a loss', async () => {
      const { first, publisher, one } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      let done = false
      const reading = Promise.all(
        range(4).map(async () => {
          while (!done) {
            await first.positions([guid])
            await first.history(guid, start, 1)
            await first.subscribe(guid)
          }
        })
      )
      for (let i = 0; i < 300; i++) await publisher.publish([entry(guid, i)])
      done = true
      await reading
      await arrived(one, guid, 300)
      assert.deepEqual(await first.positions([guid]), [{ ...start, offset: 300 }])
      assert.ok(!one.reconnects.flat().includes(guid))
    })

    test('history ends a page after some megabytes, and the next page continues', async () => {
      const { first, publisher } = fixture.pair
      const guid = fresh()
      const start = await first.subscribe(guid)
      const value = Buffer.alloc(2 ** 19, 'x')
      for (let i = 0; i < 5; i++) await publisher.publish(range(6).map(() => entry(guid, 0, { value })))
      /** @type {number[]} */
      const seen = []
      for (let pages = 0; seen.length < 30; pages++) {
        assert.ok(pages < 6)
        const { records, gap, position } = await first.history(guid, { ...start, offset: seen.length }, 100)
        assert.equal(gap, null)
        assert.equal(position.offset, 30)
        assert.ok(records.length >= 8 || seen.length + records.length === 30, `${records.length} records`)
        assert.ok(records.length <= 24, `${records.length} records`)
        seen.push(...offsets(records))
      }
      assert.deepEqual(seen, range(30, 1))
      await client().del(documentLog(guid))
    })

    test('a long batch is split into several calls and keeps its order', async () => {
      const { first, publisher, one } = fixture.pair
      const guid = fresh()
      await first.subscribe(guid)
      const published = await publisher.publish(range(700).map((i) => entry(guid, i)))
      assert.deepEqual(published.map(({ position }) => position?.offset), range(700, 1))
      await arrived(one, guid, 700)
      assert.deepEqual(texts(of(one, guid)), range(700))
    })

    test('malformed messages are counted and affect no other message', async () => {
      const { publisher, first, one } = fixture.pair
      const guid = fresh()
      await first.subscribe(guid)
      const failures = async () =>
        (await redisPair.metrics.bus_errors.get()).values.find(({ labels }) => labels.operation === 'decode')?.value ??
        0
      const before = await failures()
      const garbage = [
        '',
        'x',
        '::',
        ':0:',
        'e:1:',
        'e:-1:xxxxxxxx',
        'e:1.5:xxxxxxx',
        Buffer.from([0x3a, 0x30, 0x3a, 255, 255, 255, 255, 1]),
        ':0:\0\0\0\x02{}',
        ':0:\0\0\0\x05{"v":',
        ':0:\0\0\0\x07{"v":9}'
      ]
      for (const message of garbage) await client().spublish(documentChannel(guid), message)
      for (const message of ['x', '\0\0\0\x09abc']) await client().spublish(workerChannel(fixture.workers[0]), message)
      await publisher.publish([entry(guid, 'fine')])
      await arrived(one, guid, 1)
      await waitFor(async () => (await failures()) - before >= garbage.length + 2, {
        message: async () => `${(await failures()) - before} counted`
      })
      assert.deepEqual(texts(of(one, guid)), ['fine'])
    })
  })
}
