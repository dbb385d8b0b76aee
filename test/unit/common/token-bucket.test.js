import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from '../../../src/base/common/token-bucket.js'

/** @param {TokenBucket} bucket @param {number} now @returns {number} publications that it admits at this time */
function admitted (bucket, now) {
  for (let count = 0; ; count++) {
    try {
      bucket.mustTake(now, () => 'too many')
    } catch (error) {
      assert.equal(/** @type {any} */ (error).code, 'rate_limited')
      return count
    }
  }
}

test('a burst, then the rate', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 25 }, 0)
  assert.deepEqual([0, 50, 100, 1100, 1_000_000].map((now) => admitted(bucket, now)), [25, 0, 1, 10, 25])
})

test('a refusal says when the next one is admitted, and costs nothing', () => {
  const bucket = new TokenBucket({ perSecond: 0.5, burst: 1 }, 0)
  bucket.mustTake(0, () => 'too many')
  for (let i = 0; i < 100; i++) {
    assert.throws(() => bucket.mustTake(500, () => 'too many'), {
      code: 'rate_limited', retryable: true, status: 429, retryInMs: 1500,
      message: 'too many'
    })
  }
  bucket.mustTake(2000, () => 'too many')
})

test('a changed rate is no second burst', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 20 }, 0)
  assert.equal(admitted(bucket, 0), 20)
  bucket.change({ perSecond: 100, burst: 1000 }, 0)
  assert.deepEqual([admitted(bucket, 0), admitted(bucket, 100)], [0, 10])
  bucket.change({ perSecond: 100, burst: 5 }, 10_000)
  assert.equal(admitted(bucket, 10_000), 5)
})

test('refused work is charged, to a debt of one burst at most, and the debt ends', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 20 }, 0)
  bucket.charge(5, 0)
  assert.equal(bucket.owes(0), 0)
  assert.equal(admitted(bucket, 0), 15)
  bucket.charge(1_000_000, 0)
  assert.equal(bucket.owes(0), 2000)
  assert.equal(admitted(bucket, 1000), 0)
  assert.equal(bucket.owes(2000), 0)
  assert.equal(admitted(bucket, 2100), 1)
})

test('a clock that is set back neither fills nor empties a bucket', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 20 }, 5000)
  assert.equal(admitted(bucket, 5000), 20)
  assert.equal(admitted(bucket, 1000), 0)
  assert.equal(admitted(bucket, 1100), 1)
})

test('after the time that a refusal names there is a token, whatever the clock shows', () => {
  for (let i = 0; i < 1000; i++) {
    const at = 1e6 * Math.sin(i) ** 2
    const bucket = new TokenBucket({ perSecond: 0.1, burst: 1 }, at)
    assert.equal(bucket.take(at), true)
    assert.throws(() => bucket.mustTake(at, () => 'too many'), { retryInMs: 10_000 })
    bucket.mustTake(at + 10_000, () => `too many at ${at}`)
  }
})
