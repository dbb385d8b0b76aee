import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { arrived, entry, fresh, of, offsets, plain, publication, range, texts } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function publishContract (fixture) {
  describe('publish', () => {
    test('assigns offsets that grow by exactly 1 within one epoch', async () => {
      const guid = fresh()
      const [a] = await fixture.pair.publisher.publish([entry(guid, 1)])
      const [b, c] = await fixture.pair.first.publish([entry(guid, 2), entry(guid, 3)])
      const [d] = await fixture.pair.second.publish([entry(guid, 4)])
      assert.deepEqual([a, b, c, d].map((published) => published.position?.offset), [1, 2, 3, 4])
      assert.equal(new Set([a, b, c, d].map((published) => published.position?.epoch)).size, 1)
      assert.match(a.position?.epoch ?? '', /^[\w-]+$/)
      assert.ok([a, b, c, d].every((published) => !published.duplicate))
    })

    test('reaches every subscribed worker, in order, with its position in the log', async () => {
      const guid = fresh()
      const { epoch } = await fixture.pair.first.subscribe(guid)
      await fixture.pair.second.subscribe(guid)
      const before = Date.now()
      await fixture.pair.publisher.publish(range(16).map((i) => entry(guid, i)))
      await fixture.pair.first.publish([entry(guid, 16)])
      for (const box of [fixture.pair.one, fixture.pair.two]) {
        await arrived(box, guid, 17)
        const records = of(box, guid)
        assert.deepEqual(texts(records), range(17))
        assert.deepEqual(offsets(records), range(17, 1))
        assert.ok(records.every((record) => record.epoch === epoch))
        assert.ok(records.every((record) => record.ingestedAt >= before && record.ingestedAt <= Date.now()))
      }
    })

    test('transmits every field and byte of a publication, live and from the log', async () => {
      const guid = fresh()
      const sent = publication({
        guid,
        event: 'ünï:cøde',
        except: ['a', 'b'],
        receipt: true,
        traceId: 't',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        timestamp: 1_700_000_000_123,
        source: 'billing',
        from: 'abc',
        contentType: 'application/msgpack',
        value: Buffer.from(range(256))
      })
      const position = await fixture.pair.second.subscribe(guid)
      await fixture.pair.publisher.publish([{ publication: sent }])
      await arrived(fixture.pair.two, guid, 1)
      const { records } = await fixture.pair.first.history(guid, position, 10)
      for (const record of [of(fixture.pair.two, guid)[0], records[0]]) {
        assert.deepEqual(plain({ ...record.publication, value: null }), plain({ ...sent, value: null }))
        assert.ok(Buffer.isBuffer(record.publication.value))
        assert.deepEqual(record.publication.value, sent.value)
      }
    })

    test('transmits an empty value and one of a megabyte', async () => {
      const guid = fresh()
      const large = randomBytes(2 ** 20)
      const position = await fixture.pair.first.subscribe(guid)
      await fixture.pair.publisher.publish([
        entry(guid, 0, { value: Buffer.alloc(0) }),
        entry(guid, 0, { value: large })
      ])
      await arrived(fixture.pair.one, guid, 2)
      const { records } = await fixture.pair.first.history(guid, position, 10)
      for (const [empty, full] of [of(fixture.pair.one, guid), records]) {
        assert.equal(empty.publication.value.length, 0)
        assert.ok(full.publication.value.equals(large))
      }
    })

    test('distinguishes documents with unusual names', async () => {
      const suffix = fresh('')
      const guids = [
        '}',
        '{',
        '{}',
        '}{',
        'a}b{c}',
        'a:b',
        'a}:log',
        'a}:meta',
        'a',
        '文書/λ?x=1&y=é',
        '😀',
        'x'.repeat(200),
        ' spaced '
      ].flatMap((guid) => [guid + suffix, suffix + guid])
      await Promise.all(guids.map((guid) => fixture.pair.first.subscribe(guid)))
      await Promise.all(guids.map((guid) => fixture.pair.publisher.publish([entry(guid, guid)])))
      for (const guid of guids) {
        await arrived(fixture.pair.one, guid, 1)
        assert.deepEqual(texts(of(fixture.pair.one, guid)), [guid])
        assert.deepEqual(offsets(of(fixture.pair.one, guid)), [1])
      }
      assert.deepEqual(
        (await fixture.pair.second.positions(guids)).map((position) => position?.offset),
        guids.map(() => 1)
      )
    })

    test('does nothing without entries', async () => {
      assert.deepEqual(await fixture.pair.publisher.publish([]), [])
    })

    test('refuses entries of several lanes', async () => {
      const guid = fresh()
      await assert.rejects(fixture.pair.publisher.publish([entry(guid, 1), entry(fresh(), 2)]), TypeError)
      const [end] = await fixture.pair.publisher.positions([guid])
      assert.equal(end?.offset ?? 0, 0)
    })

    test('a handler that throws affects no other record', async () => {
      const guid = fresh()
      await fixture.pair.first.subscribe(guid)
      const { onRecord } = fixture.pair.one
      fixture.pair.one.onRecord = (record) => {
        if (record.publication.guid === guid && record.offset === 1) throw new Error('a test threw this')
        onRecord(record)
      }
      await fixture.pair.publisher.publish([entry(guid, 1), entry(guid, 2)])
      await arrived(fixture.pair.one, guid, 1)
      fixture.pair.one.onRecord = onRecord
      assert.deepEqual(offsets(of(fixture.pair.one, guid)), [2])
    })
  })

  describe('duplicates', () => {
    test('an origin is published once, however often it is retried', async () => {
      const guid = fresh()
      await fixture.pair.first.subscribe(guid)
      await fixture.pair.second.subscribe(guid)
      const offered = { ...entry(guid, 'once'), origin: { source: 'topic/3', sequence: 7 } }
      const [first] = await fixture.pair.publisher.publish([offered])
      assert.deepEqual([first.duplicate, first.position?.offset], [false, 1])
      const [next] = await fixture.pair.publisher.publish([
        { ...entry(guid, 'next'), origin: { source: 'topic/3', sequence: 8 } }
      ])
      const [again] = await fixture.pair.first.publish([offered])
      assert.deepEqual(again, { position: next.position, duplicate: true })
      await fixture.flush(guid)
      assert.deepEqual(texts(of(fixture.pair.one, guid)).slice(0, 2), ['once', 'next'])
      assert.equal(of(fixture.pair.one, guid).length, 3)
      assert.equal((await fixture.pair.first.positions([guid]))[0]?.offset, 2)
    })

    test('a retry of a batch after half of it was kept publishes the rest only', async () => {
      const guid = fresh()
      const position = await fixture.pair.second.subscribe(guid)
      const batch = range(6).map((i) => ({ ...entry(guid, i), origin: { source: 's', sequence: 100 + i } }))
      await fixture.pair.publisher.publish(batch.slice(0, 3))
      const published = await fixture.pair.publisher.publish(batch)
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [true, true, true, false, false, false])
      assert.deepEqual(published.map(({ position }) => position?.offset), [3, 3, 3, 4, 5, 6])
      assert.deepEqual(texts((await fixture.pair.second.history(guid, position, 100)).records), range(6))
      await arrived(fixture.pair.two, guid, 6)
      assert.deepEqual(texts(of(fixture.pair.two, guid)), range(6))
    })

    test('the same origin twice in one batch is kept once', async () => {
      const guid = fresh()
      const origin = { source: 's', sequence: 0 }
      const published = await fixture.pair.publisher.publish([
        { ...entry(guid, 1), origin },
        { ...entry(guid, 1), origin }
      ])
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, true])
      assert.equal((await fixture.pair.first.positions([guid]))[0]?.offset, 1)
    })

    test('sources are distinguished, and so are documents', async () => {
      const [guid, other] = [fresh(), fresh()]
      for (const [target, source] of [
        [guid, 'topic/1'],
        [guid, 'topic/11'],
        [guid, 'e'],
        [guid, 'o'],
        [other, 'topic/1']
      ]) {
        const [{ duplicate }] = await fixture.pair.publisher.publish([
          { ...entry(target, source), origin: { source, sequence: 5 } }
        ])
        assert.equal(duplicate, false, `${target} ${source}`)
      }
      assert.deepEqual((await fixture.pair.first.positions([guid, other])).map((position) => position?.offset), [4, 1])
    })

    test('sequences are exact up to 2^53', async () => {
      const guid = fresh()
      const last = Number.MAX_SAFE_INTEGER
      for (const sequence of [
        99_999_999_999_998, 99_999_999_999_999, 100_000_000_000_000, 100_000_000_000_001,
        last - 2,
        last - 1,
        last
      ]) {
        const offered = { ...entry(guid, sequence), origin: { source: 's', sequence } }
        assert.equal((await fixture.pair.publisher.publish([offered]))[0].duplicate, false, `${sequence} is new`)
        assert.equal((await fixture.pair.publisher.publish([offered]))[0].duplicate, true, `${sequence} is known`)
        assert.equal(
          (await fixture.pair.publisher.publish([{ ...offered, origin: { source: 's', sequence: sequence - 1 } }]))[0]
            .duplicate,
          true,
          `${sequence} - 1 is below`
        )
      }
      assert.equal((await fixture.pair.first.positions([guid]))[0]?.offset, 7)
    })

    test('after a partition lost its end, records of a later leader at the same offsets are new, and those of an earlier leader are ' +
      'duplicates', async () => {
      const guid = fresh()
      const offered = (/** @type {[epoch: number | undefined, sequence: number]} */ ...[epoch, sequence]) => ({
        ...entry(guid, `${epoch}@${sequence}`),
        origin: { source: 's', sequence, epoch }
      })
      // in one call and in several
      await fixture.pair.publisher.publish(range(20).map((i) => offered(4, i)))
      const published = await fixture.pair.publisher.publish([
        offered(4, 9),
        offered(5, 10),
        offered(5, 10),
        offered(4, 11),
        offered(5, 11)
      ])
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [true, false, true, true, false])
      const single = async (/** @type {[epoch: number | undefined, sequence: number]} */ ...place) =>
        (await fixture.pair.publisher.publish([offered(...place)]))[0].duplicate
      assert.equal(await single(5, 11), true, 'the same record again')
      assert.equal(await single(4, 19), true, 'the lost end, read again from another broker')
      assert.equal(await single(3, 500), true, 'an earlier leader is never newer')
      assert.equal(await single(12, 12), false, 'an ordinary change of the leader; epochs are numbers, not text')
      assert.equal(await single(5, 11), true, 'a record from before that change keeps its epoch')
      assert.equal((await fixture.pair.first.positions([guid]))[0]?.offset, 23)
    })

    test('if an epoch is unknown, of the record or of the last one, the offset alone decides', async () => {
      const guid = fresh()
      const duplicate = async (/** @type {number | undefined} */ epoch, /** @type {number} */ sequence) =>
        (
          await fixture.pair.publisher.publish([{ ...entry(guid, sequence), origin: { source: 's', sequence, epoch } }])
        )[0].duplicate
      assert.equal(await duplicate(undefined, 20), false)
      assert.equal(await duplicate(7, 19), true)
      assert.equal(await duplicate(7, 21), false)
      assert.equal(await duplicate(undefined, 21), true)
      assert.equal(await duplicate(undefined, 22), false)
      assert.equal(await duplicate(6, 22), true)
      assert.equal(await duplicate(0, 23), false)
      assert.equal(await duplicate(10, 23), false)
    })
  })

  describe('an idempotency key', () => {
    test('is kept once, with its first value, alone and in a batch, whatever the origin', async () => {
      const guid = fresh()
      const position = await fixture.pair.first.subscribe(guid)
      const keyed = (/** @type {string} */ text, /** @type {string} */ idempotencyKey) =>
        entry(guid, text, { idempotencyKey })
      const published = [
        ...(await fixture.pair.publisher.publish([keyed('a', 'k1')])),
        ...(await fixture.pair.second.publish([
          keyed('b', 'k1'),
          keyed('c', 'k2'),
          entry(guid, 'd'),
          keyed('e', 'k2')
        ])),
        ...(await fixture.pair.publisher.publish([
          { ...keyed('f', 'k1'), origin: { source: 's', sequence: 7 } },
          { ...keyed('g', 'k3'), origin: { source: 's', sequence: 8 } }
        ]))
      ]
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, true, false, false, true, true, false])
      assert.deepEqual(published.map(({ position }) => position?.offset), [1, 1, 2, 3, 3, 3, 4])
      await arrived(fixture.pair.one, guid, 4)
      const { records } = await fixture.pair.first.history(guid, position, 10)
      for (const list of [of(fixture.pair.one, guid), records]) assert.deepEqual(texts(list), ['a', 'c', 'd', 'g'])
    })

    test('a duplicate by key stays a duplicate by origin after its key was dropped', async () => {
      const pair = await fixture.open({ size: 10, ttl: 60 }, { ttl: 60, keys: 2 })
      try {
        const guid = fresh()
        const keyed = (/** @type {number} */ sequence, /** @type {string} */ idempotencyKey) => ({
          ...entry(guid, sequence, { idempotencyKey }),
          origin: { source: 's', sequence }
        })
        const published = [
          ...(await pair.publisher.publish([keyed(10, 'k')])),
          ...(await pair.publisher.publish([keyed(11, 'k')]))
        ]
        for (const idempotencyKey of ['o1', 'o2', 'o3'])
          await pair.publisher.publish([entry(guid, 'other', { idempotencyKey })])
        published.push(...await pair.publisher.publish([keyed(11, 'k')]))
        assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, true, true])
        assert.equal((await pair.first.positions([guid]))[0]?.offset, 4)
      } finally {
        await pair.stop()
      }
    })

    test('is new again after its expiry, although other keys were added meanwhile', async () => {
      const pair = await fixture.open({ size: 10, ttl: 60 }, { ttl: 2, keys: 10 })
      try {
        const guid = fresh()
        const keyed = (/** @type {string} */ idempotencyKey) => entry(guid, idempotencyKey, { idempotencyKey })
        const [first] = await pair.publisher.publish([keyed('k')])
        await delay(1000)
        await pair.publisher.publish([keyed('another')])
        await delay(1050)
        const [again, once] = await pair.publisher.publish([keyed('k'), keyed('k')])
        assert.deepEqual([first, again, once].map(({ duplicate }) => duplicate), [false, false, true])
      } finally {
        await pair.stop()
      }
    })

    test('of another document is another key', async () => {
      for (const guid of [fresh(), fresh()])
        assert.equal(
          (await fixture.pair.publisher.publish([entry(guid, 1, { idempotencyKey: 'k' })]))[0].duplicate,
          false
        )
    })
  })

  describe('ephemeral publications', () => {
    test('are delivered in order with the others and are not stored', async () => {
      const guid = fresh()
      const start = await fixture.pair.first.subscribe(guid)
      const published = await fixture.pair.publisher.publish([
        entry(guid, 'a', { ephemeral: true }), entry(guid, 'b'), entry(guid, 'c', { ephemeral: true }), entry(guid, 'd')
      ])
      await fixture.pair.publisher.publish([entry(guid, 'e', { ephemeral: true })])
      assert.deepEqual(published.map(({ position }) => position?.offset ?? null), [null, 1, null, 2])
      await arrived(fixture.pair.one, guid, 5)
      assert.deepEqual(texts(of(fixture.pair.one, guid)), ['a', 'b', 'c', 'd', 'e'])
      assert.deepEqual(offsets(of(fixture.pair.one, guid)), [0, 1, 0, 2, 0])
      assert.deepEqual(of(fixture.pair.one, guid).map((record) => record.epoch), ['', start.epoch, '', start.epoch, ''])
      assert.deepEqual(texts((await fixture.pair.first.history(guid, start, 10)).records), ['b', 'd'])
    })

    test('alone create no log', async () => {
      const guid = fresh()
      await fixture.pair.publisher.publish([entry(guid, 'a', { ephemeral: true })])
      await fixture.pair.publisher.publish([
        entry(guid, 'a', { ephemeral: true }),
        entry(guid, 'b', { ephemeral: true })
      ])
      const [end] = await fixture.pair.first.positions([guid])
      assert.equal(end?.offset ?? 0, 0)
    })
  })
}
