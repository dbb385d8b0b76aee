import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeEvent } from '../../../src/gateway/document-rate.js'

/** @param {object} connection @param {string} guid @param {number} rate @param {number} now */
const taken = (connection, guid, rate, now) => {
  for (let count = 0; ; count++) {
    try {
      takeEvent(connection, guid, rate, now)
    } catch (error) {
      const { code, retryInMs } = /** @type {any} */ (error)
      assert.equal(code, 'rate_limited')
      return { count, retryInMs }
    }
  }
}

test('a connection may send twice the rate at once, and then the rate; each document and connection counts by itself', () => {
  const [ada, bob] = [{}, {}]
  assert.deepEqual(taken(ada, 'a', 10, 0), { count: 20, retryInMs: 100 })
  assert.deepEqual(taken(ada, 'a', 10, 450), { count: 4, retryInMs: 50 })
  assert.deepEqual(taken(ada, 'b', 10, 450).count, 20)
  assert.deepEqual(taken(bob, 'a', 10, 450).count, 20)
  assert.deepEqual(taken(ada, 'a', 10, 1e6).count, 20)
  // a clock that is set back refills nothing
  assert.deepEqual(taken(ada, 'a', 10, 5e5).count, 0)
  assert.deepEqual(taken(ada, 'a', 10, 5e5 + 100).count, 1)
})

test('another rate is in force with the next event, and a rate below one still admits events', () => {
  const ada = {}
  assert.equal(taken(ada, 'a', 10, 0).count, 20)
  assert.equal(taken(ada, 'a', 100, 100).count, 10)
  assert.equal(taken(ada, 'a', 0.1, 100).count, 0)
  assert.deepEqual(taken(ada, 'a', 0.1, 10_100), { count: 1, retryInMs: 10_000 })
  assert.deepEqual(taken(ada, 'c', 0.1, 0), { count: 1, retryInMs: 10_000 })
})
