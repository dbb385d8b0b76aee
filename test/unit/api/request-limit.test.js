import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestLimit } from '../../../src/services/api/request-limit.js'

const full = { code: 'unavailable', retryable: true }

test('the number of pending requests is limited, and one that ends makes room for another', () => {
  const requestLimit = new RequestLimit({ maxRequests: 2, maxBytes: 100 })
  const permit = requestLimit.enter(0)
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
  permit.release()
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
})

test('the bytes of pending requests are limited', () => {
  const requestLimit = new RequestLimit({ maxRequests: 10, maxBytes: 100 })
  const permit = requestLimit.enter(60)
  assert.throws(() => requestLimit.enter(41), full)
  requestLimit.enter(40)
  assert.throws(() => requestLimit.enter(1), full)
  permit.release()
  requestLimit.enter(60)
})

test('a permit is free when all its holders have released it, and only once', () => {
  const requestLimit = new RequestLimit({ maxRequests: 1, maxBytes: 100 })
  const permit = requestLimit.enter(100)
  permit.hold()
  permit.release()
  assert.throws(() => requestLimit.enter(0), full)
  permit.release()
  assert.equal(requestLimit.requests, 0)
  permit.release()
  assert.equal(requestLimit.requests, 0)
})

test('answers count until their permit ends, and one caller has at most half of them', () => {
  const requestLimit = new RequestLimit({ maxRequests: 10, maxBytes: 100 })
  const permit = requestLimit.enter(0, 'reader')
  permit.answer(30)
  permit.answer(50)
  assert.throws(() => permit.answer(51), full)
  assert.throws(() => requestLimit.enter(0, 'reader').answer(1), full)
  const other = requestLimit.enter(100, 'editor')
  other.answer(50)
  assert.throws(() => requestLimit.enter(0, 'another').answer(1), full)
  permit.release()
  requestLimit.enter(0, 'reader').answer(50)
})

test('an answer that is no longer read counts nothing', () => {
  const requestLimit = new RequestLimit({ maxRequests: 10, maxBytes: 100 })
  const permit = requestLimit.enter(0, 'reader')
  permit.release()
  permit.answer(50)
  requestLimit.enter(0, 'reader').answer(50)
})
