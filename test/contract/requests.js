import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'

/** @typedef {import('../../src/services/api/idempotency/redis-requests.js').Requests} Requests */

/**
 * The contract of every store of requests with idempotency keys.
 *
 * @param {string} name
 * @param {() => [Requests, Requests]} pair stores of two processes
 */
export function requestsContract (name, pair) {
  const fresh = () => randomBytes(16).toString('hex')

  describe(`requests with idempotency keys: ${name}`, () => {
    test('the first request is new, duplicates are busy while it is in progress, and then get its response', async () => {
      const [one, two] = pair()
      const id = fresh()
      assert.deepEqual(await one.begin(id, 'f', 't1'), { state: 'new', traceId: 't1' })
      assert.deepEqual(await two.begin(id, 'f', 't2'), { state: 'busy' })
      await one.finish(id, 'f', '{"traceId":"t1"}')
      for (const requests of [one, two])
        assert.deepEqual(await requests.begin(id, 'f', 't3'), { state: 'done', answer: '{"traceId":"t1"}' })
      assert.deepEqual(await two.begin(fresh(), 'f', 't4'), { state: 'new', traceId: 't4' })
    })

    test('one of twenty concurrent requests is new', async () => {
      const stores = pair()
      const id = fresh()
      const begun = await Promise.all(Array.from({ length: 20 }, (_, i) => stores[i % 2].begin(id, 'f', `t${i}`)))
      assert.deepEqual(begun.map(({ state }) => state).sort(), [...Array(19).fill('busy'), 'new'])
    })

    test('another request with the same key is detected, during the first one and after it', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
      await one.finish(id, 'f', '{}')
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
      await one.release(id)
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'other' })
    })

    test('a request with any fingerprint goes on with one that another version began, or gets its response', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      assert.deepEqual(await two.begin(id, '*', 't2'), { state: 'busy' })
      await one.release(id)
      assert.deepEqual(await two.begin(id, '*', 't2'), { state: 'new', traceId: 't1' })
      await two.finish(id, '*', '{}')
      assert.deepEqual(await one.begin(id, '*', 't3'), { state: 'done', answer: '{}' })
    })

    test('a failed request may be retried, under its first trace id', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      await one.release(id)
      assert.deepEqual(await two.begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      assert.deepEqual(await one.begin(id, 'f', 't3'), { state: 'busy' })
      await two.finish(id, 'f', '{}')
      // a late release by the first one changes nothing
      await one.release(id)
      assert.deepEqual(await one.begin(id, 'f', 't3'), { state: 'done', answer: '{}' })
    })

    test('a refused request is forgotten: the next one with its key is another request', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      await one.forget(id)
      assert.deepEqual(await two.begin(id, 'g', 't2'), { state: 'new', traceId: 't2' })
      assert.deepEqual(await one.begin(id, 'g', 't3'), { state: 'busy' })
      await two.forget(id)
      assert.deepEqual(await one.begin(id, 'h', 't4'), { state: 'new', traceId: 't4' })
      await one.finish(id, 'h', '{}')
      assert.deepEqual(await two.begin(id, 'f', 't5'), { state: 'other' })
    })

    test('a refused retry is not forgotten: the first try may have published', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      await one.release(id)
      for (const requests of [two, one, two]) {
        assert.deepEqual(await requests.begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
        await requests.forget(id)
        assert.deepEqual(await one.begin(id, 'g', 't3'), { state: 'other' })
      }
    })

    test('a late forget leaves the response', async () => {
      const [one, two] = pair()
      const id = fresh()
      await one.begin(id, 'f', 't1')
      await one.finish(id, 'f', '{}')
      await one.forget(id)
      assert.deepEqual(await two.begin(id, 'f', 't2'), { state: 'done', answer: '{}' })
    })

    test('release and forget of an unknown request store nothing', async () => {
      const [one] = pair()
      const id = fresh()
      await one.release(id)
      await one.forget(id)
      assert.deepEqual(await one.begin(id, 'f', 't1'), { state: 'new', traceId: 't1' })
    })
  })
}
