import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MAX_QUEUES } from '../../src/log/bus/contract.js'
import { entry, fresh, range, texts } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function queuesContract (fixture) {
  describe('queues of clients', () => {
    /** @param {string} guid @param {number} number @param {string} [id] */
    const queued = (guid, number, id = 'a queue of a tab') => ({ ...entry(guid, number), queue: { id, number } })

    test('an edit is published once, whatever worker gets it again', async () => {
      const guid = fresh()
      const start = await fixture.pair.first.subscribe(guid)
      const { first, second } = fixture.pair
      const published = [
        ...await first.publish([queued(guid, 1)]),
        ...await second.publish([queued(guid, 1)]),
        ...await second.publish([queued(guid, 2)]),
        ...await first.publish([queued(guid, 1)]),
        ...await first.publish([queued(guid, 5)])
      ]
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, true, false, true, false])
      assert.deepEqual(published.map(({ position }) => position?.offset), [1, 1, 2, 2, 3])
      assert.deepEqual(texts((await first.history(guid, start, 10)).records), [1, 2, 5])
    })

    test('do not affect each other, nor other publications', async () => {
      const guid = fresh()
      const { first } = fixture.pair
      await first.publish([queued(guid, 7)])
      const published = [
        ...await first.publish([queued(guid, 1, 'the queue of another tab')]),
        ...await first.publish([queued(fresh(), 1)]),
        ...await first.publish([entry(guid, 1)])
      ]
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, false, false])
    })

    test('concurrent repetitions of one edit are published once', async () => {
      const guid = fresh()
      const { first, second } = fixture.pair
      const published = await Promise.all(
        range(20).map((i) => (i % 2 === 0 ? first : second).publish([queued(guid, 1)]))
      )
      assert.equal(published.flat().filter(({ duplicate }) => !duplicate).length, 1)
    })

    test('belong to a user: the same id of another one changes nothing for them', async () => {
      const guid = fresh()
      const { first, second } = fixture.pair
      const of = (/** @type {string | undefined} */ uid, /** @type {number} */ number) =>
        ({ ...entry(guid, number), queue: { id: 'q', number, ...(uid !== undefined && { uid }) } })
      const published = []
      for (const [uid, number] of /** @type {[string | undefined, number][]} */ ([
        ['anna', 1], ['otto', 2 ** 53 - 1], [undefined, 2 ** 53 - 1], ['anna', 2], ['anna', 2], ['', 2]
      ])) published.push(...await (number % 2 ? first : second).publish([of(uid, number)]))
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [false, false, false, false, true, true])
      await first.noteQueued(guid, { id: 'q', uid: 'anna', number: 9 })
      assert.equal(await second.queuedUpTo(guid, { id: 'q', uid: 'anna' }), 9)
      assert.equal(await second.queuedUpTo(guid, { id: 'q', uid: 'nobody' }), 0)
    })

    test('are remembered up to a number of them, the one that was used least recently goes first', async () => {
      const guid = fresh()
      const { first, second } = fixture.pair
      const uid = 'anna'
      const upTo = (/** @type {number} */ i) => second.queuedUpTo(guid, { id: `q${i}`, uid })
      await first.noteQueued(guid, { id: 'q0', uid: 'otto', number: 1 })
      for (const i of range(MAX_QUEUES)) await first.publish([{ ...entry(guid, i), queue: { id: `q${i}`, uid, number: 1 } }])
      await first.noteQueued(guid, { id: 'q0', uid, number: 2 })
      for (const i of range(10, MAX_QUEUES)) await first.noteQueued(guid, { id: `q${i}`, uid, number: 1 })
      assert.deepEqual(await Promise.all(range(12).map(upTo)), [2, ...Array(10).fill(0), 1])
      assert.equal(await second.queuedUpTo(guid, { id: 'q0', uid: 'otto' }), 1, 'those of another user stay')
    })

    test('are noted by an uplink with the same numbers', async () => {
      const guid = fresh()
      const { first, second } = fixture.pair
      assert.equal(await first.queuedUpTo(guid, { id: 'q' }), 0)
      await first.noteQueued(guid, { id: 'q', number: 3 })
      await second.noteQueued(guid, { id: 'q', number: 2 })
      assert.equal(await second.queuedUpTo(guid, { id: 'q' }), 3)
      const published = [...await first.publish([queued(guid, 3, 'q')]), ...await first.publish([queued(guid, 4, 'q')])]
      assert.deepEqual(published.map(({ duplicate }) => duplicate), [true, false])
      assert.equal(await second.queuedUpTo(guid, { id: 'q' }), 4)
    })
  })

  describe('cut', () => {
    test('removes the records up to a position, and no others', async () => {
      const guid = fresh()
      const { first, second, publisher } = fixture.pair
      const start = await first.subscribe(guid)
      await publisher.publish(range(10, 1).map((i) => entry(guid, i)))
      const end = { epoch: start.epoch, offset: 10 }
      assert.deepEqual(await second.cut(guid, { ...start, offset: 4 }), { position: end, removed: 4 })
      assert.deepEqual(await second.cut(guid, { ...start, offset: 4 }), { position: end, removed: 0 })
      assert.equal((await first.history(guid, { ...start, offset: 3 }, 10)).gap, 'trimmed')
      assert.deepEqual(texts((await first.history(guid, { ...start, offset: 4 }, 10)).records), range(6, 5))
    })

    test('of all records leaves the log at its position', async () => {
      const guid = fresh()
      const { first, publisher } = fixture.pair
      const start = await first.subscribe(guid)
      await publisher.publish([entry(guid, 1), entry(guid, 2)])
      assert.equal((await first.cut(guid, { ...start, offset: 2 }))?.removed, 2)
      const [{ position }] = await publisher.publish([entry(guid, 3)])
      assert.equal(position?.offset, 3)
      assert.deepEqual(texts((await first.history(guid, { ...start, offset: 2 }, 10)).records), [3])
    })

    test('refuses a position that is none of this log', async () => {
      const guid = fresh()
      const { first, publisher } = fixture.pair
      assert.equal(await first.cut(guid, { epoch: 'e', offset: 0 }), null)
      const start = await first.subscribe(guid)
      await publisher.publish([entry(guid, 1)])
      assert.equal(await first.cut(guid, { epoch: 'another', offset: 1 }), null)
      assert.equal(await first.cut(guid, { ...start, offset: 2 }), null)
      assert.deepEqual(texts((await first.history(guid, start, 10)).records), [1])
    })
  })
}
