import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'

/** @typedef {import('../../src/api/requests.js').Requests} Requests */

/**
 * What every store of requests with idempotency keys must do.
 *
 * @param {string} name
 * @param {() => [Requests, Requests]} pair as two processes have them; the same one twice where there is only one
 *   process
 */
export function requestsContract (name, pair) {
  const fresh = () => randomBytes(16).toString('hex')

  describe(`requests with idempotency keys: ${name}`, () => {
    test('the first one is new, others are told that it is in work, and then its answer', async () => {
      const [one, two] = pair()
      const id = fresh()
      assert.deepEqual(await one.begin(id, 'f', 't1'), { state: 'new', traceId: 't1' })
      assert.deepEqual(await two.begin(id, 'f', 't2'), { state: 'busy' })
      await one.finish(id, 'f', '{"traceId":"t1"}')
      for (const requests of [one, two])
        assert.deepEqual(await requests.begin(id, 'f', 't3'), { state: 'done', answer: '{"traceId":"t1"}' })
      assert.deepEqual(await two.begin(fresh(), 'f', 't4'), { state: 'new', traceId: 't4' })
    })

    test('of twenty at the same time one is new', async () => {
      const stores = pair()
      const id = fresh()
      const begun = await Promise.all(Array.from({ length: 20 }, (_, i) => stores[i % 2].begin(id, 'f', `t${i}`)))
      assert.deepEqual(begun.map(({ state }) => state).sort(), [...Array(19).fill('busy'), 'new'])
    })

    test('another request with the same key is told so, in work and after', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
      await one.finish(id, 'f', '{}')
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
      await one.release(id)
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
    })

    test('one that failed may be tried again, under its first trace id', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      await one.release(id)
      assert.deepEqual(await two.begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      assert.deepEqual(await one.begin(id, 'f', 't3'), { state: 'busy' })
      await two.finish(id, 'f', '{}')
      // a late word from the first one takes nothing back
      await one.release(id)
      assert.deepEqual(await one.begin(id, 'f', 't3'), { state: 'done', answer: '{}' })
    })

    test('releasing what is not known leaves nothing behind', async () => {
      const [one] = pair()
      const id = fresh()
      await one.release(id)
      assert.deepEqual(await one.begin(id, 'f', 't1'), { state: 'new', traceId: 't1' })
    })
  })
}
