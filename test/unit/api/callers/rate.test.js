import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rate } from '../../../../src/api/callers/rate.js'

/** @param {Rate} rate @param {number} now @returns {number} publications that it admits at this time */
function admitted (rate, now) {
  for (let count = 0; ; count++) {
    try {
      rate.take('editor', now)
    } catch (error) {
      assert.equal(/** @type {any} */ (error).code, 'rate_limited')
      return count
    }
  }
}

test('a burst, then the rate', () => {
  const rate = new Rate({ perSecond: 10, burst: 25 }, 0)
  assert.deepEqual([0, 50, 100, 1100, 1_000_000].map((now) => admitted(rate, now)), [25, 0, 1, 10, 25])
})

test('a refusal says when the next one is admitted, and costs nothing', () => {
  const rate = new Rate({ perSecond: 0.5, burst: 1 }, 0)
  rate.take('editor', 0)
  for (let i = 0; i < 100; i++) {
    assert.throws(() => rate.take('editor', 500), {
      code: 'rate_limited', retryable: true, status: 429, retryInMs: 1500,
      message: 'the caller editor publishes more than 0.5 per second'
    })
  }
  rate.take('editor', 2000)
})

test('a changed rate is no second burst', () => {
  const rate = new Rate({ perSecond: 10, burst: 20 }, 0)
  assert.equal(admitted(rate, 0), 20)
  rate.change({ perSecond: 100, burst: 1000 }, 0)
  assert.deepEqual([admitted(rate, 0), admitted(rate, 100)], [0, 10])
  rate.change({ perSecond: 100, burst: 5 }, 10_000)
  assert.equal(admitted(rate, 10_000), 5)
})

test('refused work is charged, to a debt of one burst at most, and the debt ends', () => {
  const rate = new Rate({ perSecond: 10, burst: 20 }, 0)
  rate.charge(5, 0)
  assert.equal(rate.owes(0), 0)
  assert.equal(admitted(rate, 0), 15)
  rate.charge(1_000_000, 0)
  assert.equal(rate.owes(0), 2000)
  assert.equal(admitted(rate, 1000), 0)
  assert.equal(rate.owes(2000), 0)
  assert.equal(admitted(rate, 2100), 1)
})
