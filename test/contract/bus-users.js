import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { userLog } from '../../src/wire/publication.js'
import { waitFor } from '../helpers/wait.js'
import { fresh, offsets, publication, range, texts } from './bus-fixture.js'

/** @param {import('./bus-fixture.js').Fixture} fixture */
export function usersContract (fixture) {
  describe('the log of a user', () => {
    /**
     * @param {string} uid
     * @param {number} text
     * @param {Partial<import('./bus-fixture.js').Publication>} [fields]
     */
    const kept = (uid, text, fields) => ({
      publication: publication({ operator: 'user', uid, keep: true, value: Buffer.from(String(text)), ...fields })
    })
    /** @param {import('./bus-fixture.js').Inbox} box @param {string} uid */
    const records = (box, uid) => box.records.filter(({ publication }) => publication.uid === uid)
    /** @param {import('./bus-fixture.js').Inbox} box @param {string} uid */
    const directs = (box, uid) => box.directs.filter((direct) => direct.uid === uid)

    test('kept records are numbered, delivered to subscribers of the log and workers of the user, and read again',
      async () => {
        const { first, second, publisher, one, two } = fixture.pair
        const uid = fresh('user {ü}')
        const start = await first.subscribe(userLog(uid))
        await second.addUser(uid)
        const published = await publisher.publish(range(5).map((i) => kept(uid, i)))
        assert.deepEqual(published, range(5, 1).map((offset) => (
          { position: { epoch: start.epoch, offset }, duplicate: false }
        )))
        await waitFor(() => records(one, uid).length === 5 && directs(two, uid).length === 5)
        assert.deepEqual(texts(records(one, uid)), range(5))
        assert.deepEqual(offsets(records(one, uid)), range(5, 1))
        assert.equal(records(one, uid)[0].publication.keep, true)
        assert.deepEqual(directs(two, uid).map(({ value }) => Number(value)), range(5))
        assert.deepEqual([records(two, uid), directs(one, uid)], [[], []])
        const { records: read, gap } = await second.history(userLog(uid), { ...start, offset: 2 }, 100)
        assert.deepEqual([texts(read), offsets(read), gap], [[2, 3, 4], [3, 4, 5], null])
      })

    test('records that are not kept are in no log, also in one batch with kept ones', async () => {
      const { first, publisher, one } = fixture.pair
      const uid = fresh('user')
      await first.addUser(uid)
      const published = await publisher.publish([0, 1, 2, 3].map((i) => kept(uid, i, { keep: i % 2 === 1 })))
      assert.deepEqual(published.map(({ position }) => position?.offset), [undefined, 1, undefined, 2])
      await waitFor(() => directs(one, uid).length === 4)
      assert.deepEqual(directs(one, uid).map(({ value }) => Number(value)), range(4))
      const [end] = await publisher.positions([userLog(uid)])
      assert.equal(end?.offset, 2)
    })

    test('a duplicate of a Kafka record, or of an idempotency key, is published once', async () => {
      const { first, publisher, one } = fixture.pair
      const uid = fresh('user')
      await first.subscribe(userLog(uid))
      await first.addUser(uid)
      const entry = { ...kept(uid, 1), origin: { source: fresh('topic'), sequence: 7 } }
      const keyed = kept(uid, 2, { idempotencyKey: fresh('key') })
      for (const again of [false, true]) {
        assert.deepEqual((await publisher.publish([entry, keyed])).map(({ duplicate }) => duplicate), [again, again])
      }
      await publisher.publish([kept(uid, 3)])
      await waitFor(() => records(one, uid).length >= 3 && directs(one, uid).length >= 3)
      assert.deepEqual(texts(records(one, uid)), [1, 2, 3])
      assert.deepEqual(directs(one, uid).map(({ value }) => Number(value)), [1, 2, 3])
    })
  })
}
