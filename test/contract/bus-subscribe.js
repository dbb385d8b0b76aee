import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { waitFor } from '../helpers/wait.js'
import { arrived, entry, fresh, of, offsets, range, texts } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function subscribeContract (fixture) {
  describe('subscribe', () => {
    test('returns a position to resume from, even for a document without records', async () => {
      const guid = fresh()
      const position = await fixture.pair.first.subscribe(guid)
      assert.equal(position.offset, 0)
      assert.deepEqual(await fixture.pair.second.subscribe(guid), position)
      const [published] = await fixture.pair.publisher.publish([entry(guid, 'first')])
      assert.deepEqual(published.position, { epoch: position.epoch, offset: 1 })
      const { records, gap } = await fixture.pair.second.history(guid, position, 10)
      assert.equal(gap, null)
      assert.deepEqual(texts(records), ['first'])
    })

    test('leaves no gap between its position and the live records', async () => {
      // a publisher without pauses, and a worker that subscribes again and again meanwhile
      const guids = range(8).map(() => fresh())
      let stopped = false
      const publishing = Promise.all(guids.map(async (guid) => {
        for (let i = 1; !stopped; i += 2) {
          await fixture.pair.publisher.publish([entry(guid, i), entry(guid, i + 1)])
          await turn()
        }
      }))
      try {
        for (let round = 0; round < 12; round++) {
          fixture.pair.one.records.length = 0
          const positions = await Promise.all(guids.map((guid) => fixture.pair.first.subscribe(guid)))
          await Promise.all(guids.map(async (guid, i) => {
            const live = () => of(fixture.pair.one, guid).filter((record) => record.offset > positions[i].offset)
            await waitFor(() => live().length >= 5, { message: 'five live records' })
            assert.deepEqual(offsets(live()), range(live().length, positions[i].offset + 1))
          }))
          await Promise.all(guids.map((guid) => fixture.pair.first.unsubscribe(guid)))
        }
      } finally {
        stopped = true
        await publishing
      }
    })

    test('works for many documents at once', async () => {
      const guids = range(500).map(() => fresh())
      await Promise.all(guids.map((guid) => fixture.pair.second.subscribe(guid)))
      await Promise.all(guids.map((guid) => fixture.pair.publisher.publish([entry(guid, guid)])))
      await waitFor(() => guids.every((guid) => of(fixture.pair.two, guid).length === 1), {
        message: 'a record of each document'
      })
      await Promise.all(guids.map((guid) => fixture.pair.second.unsubscribe(guid)))
    })
  })

  describe('unsubscribe', () => {
    test('ends delivery at once, to this worker only', async () => {
      const guid = fresh()
      await fixture.pair.first.subscribe(guid)
      await fixture.pair.second.subscribe(guid)
      const leaving = fixture.pair.first.unsubscribe(guid)
      await fixture.pair.publisher.publish([entry(guid, 1)])
      await leaving
      await fixture.pair.publisher.publish([entry(guid, 2)])
      await arrived(fixture.pair.two, guid, 2)
      await delay(30)
      assert.deepEqual(of(fixture.pair.one, guid), [])
    })

    test('drops records in flight', async () => {
      const guid = fresh()
      await fixture.pair.first.subscribe(guid)
      for (let i = 0; i < 20; i++) {
        const publishing = fixture.pair.first.publish([entry(guid, i)])
        if (i % 2 === 0) await publishing
        const left = fixture.pair.first.unsubscribe(guid)
        const { length } = of(fixture.pair.one, guid)
        await publishing
        await left
        await turn()
        assert.equal(of(fixture.pair.one, guid).length, length)
        await fixture.pair.first.subscribe(guid)
      }
    })

    test('of a document that is not subscribed does nothing', async () => {
      await fixture.pair.first.unsubscribe(fresh())
    })

    test('and subscribe in quick succession: the last call decides', async () => {
      const documents = range(40).map((i) => ({ guid: fresh(), on: i % 2 === 0 }))
      await Promise.all(documents.map(async ({ guid, on }) => {
        /** @type {Promise<unknown>[]} */
        const calls = []
        for (let toggles = randomInt(1, 8); toggles > 0; toggles--) {
          calls.push(fixture.pair.first.subscribe(guid).catch(() => {}), fixture.pair.first.unsubscribe(guid))
          if (randomInt(2) === 0) await turn()
        }
        if (on) await fixture.pair.first.subscribe(guid)
        await Promise.all(calls)
      }))
      await Promise.all(documents.map(({ guid }) => fixture.pair.publisher.publish([entry(guid, 1)])))
      await waitFor(() => documents.every(({ guid, on }) => !on || of(fixture.pair.one, guid).length === 1), {
        message: 'the records of those subscribed last'
      })
      await delay(30)
      for (const { guid, on } of documents) assert.equal(of(fixture.pair.one, guid).length, on ? 1 : 0)
    })

    test('during a subscribe does not affect a later subscribe', async () => {
      const guid = fresh()
      const given = fixture.pair.first.subscribe(guid).then(() => 'subscribed', (error) => error.code)
      const left = fixture.pair.first.unsubscribe(guid)
      await fixture.pair.first.subscribe(guid)
      assert.match(await given, /^(subscribed|unavailable)$/)
      await left
      await fixture.pair.publisher.publish([entry(guid, 1)])
      await arrived(fixture.pair.one, guid, 1)
    })
  })
}
