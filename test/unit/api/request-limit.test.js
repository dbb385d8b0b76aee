import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestLimit } from '../../../src/services/api/request-limit.js'

const full = { code: 'unavailable', retryable: true }

/** @param {{ maxRequests?: number, maxBytes?: number }} bounds of one caller */
const limitOf = ({ maxRequests = 10, maxBytes = 100 }) =>
  new RequestLimit({ maxRequests: 2 * maxRequests, maxBytes: 2 * maxBytes })

test('the number of pending requests of a caller is limited, and one that ends makes room for another', () => {
  const requestLimit = limitOf({ maxRequests: 2 })
  const permit = requestLimit.enter(0)
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
  permit.release()
  requestLimit.enter(0)
  assert.throws(() => requestLimit.enter(0), full)
})

test('the bytes of pending requests of a caller are limited', () => {
  const requestLimit = limitOf({ maxBytes: 100 })
  const permit = requestLimit.enter(60)
  assert.throws(() => requestLimit.enter(41), full)
  requestLimit.enter(40)
  assert.throws(() => requestLimit.enter(1), full)
  permit.release()
  requestLimit.enter(60)
})

test('one caller has at most half of the requests: the others have the rest', () => {
  const requestLimit = new RequestLimit({ maxRequests: 4, maxBytes: 100 })
  const permit = requestLimit.enter(0, 'flood')
  requestLimit.enter(0, 'flood')
  assert.throws(() => requestLimit.enter(0, 'flood'), { ...full, message: /the caller/ })
  requestLimit.enter(0, 'editor')
  requestLimit.enter(0, 'reader')
  assert.throws(() => requestLimit.enter(0, 'another'), { ...full, message: /too many requests/ })
  permit.release()
  requestLimit.enter(0, 'another')
  assert.throws(() => requestLimit.enter(0, 'flood'), full)
})

test('one caller has at most half of the bytes, also of bodies that grow, and a refused one takes nothing', () => {
  const requestLimit = new RequestLimit({ maxRequests: 4, maxBytes: 100 })
  const permit = requestLimit.enter(30, 'flood')
  permit.grow(20)
  for (let i = 0; i < 9; i++) {
    assert.throws(() => permit.grow(1), { ...full, message: /the caller/ })
    assert.throws(() => requestLimit.enter(1, 'flood'), full)
  }
  const other = requestLimit.enter(50, 'editor')
  assert.throws(() => requestLimit.enter(1, 'another'), full)
  permit.grow(-20)
  requestLimit.enter(20, 'another')
  other.release()
  permit.release()
  requestLimit.enter(50, 'flood')
})

test('a permit is free when all its holders have released it, and only once', () => {
  const requestLimit = limitOf({ maxRequests: 1 })
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
  const other = requestLimit.enter(50, 'editor')
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
