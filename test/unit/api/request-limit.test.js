import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestLimit } from '../../../src/api/request-limit.js'

const full = { code: 'unavailable', retryable: true }

test('the number of pending requests is limited, and one that ends makes room for another', () => {
  const requestLimit = createRequestLimit({ maxRequests: 2, maxBytes: 100 })
  const permit = requestLimit.enter(0)
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
  permit.release()
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
})

test('the bytes of pending requests are limited', () => {
  const requestLimit = createRequestLimit({ maxRequests: 10, maxBytes: 100 })
  const permit = requestLimit.enter(60)
  assert.throws(() => requestLimit.enter(41), full)
  requestLimit.enter(40)
  assert.throws(() => requestLimit.enter(1), full)
  permit.release()
  requestLimit.enter(60)
})

test('a permit is free when all its holders have released it, and only once', () => {
  const requestLimit = createRequestLimit({ maxRequests: 1, maxBytes: 100 })
  const permit = requestLimit.enter(100)
  permit.hold()
  permit.release()
  assert.throws(() => requestLimit.enter(0), full)
  permit.release()
  assert.equal(requestLimit.requests, 0)
  permit.release()
  assert.equal(requestLimit.requests, 0)
})
