import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdmission } from '../../../src/api/admission.js'

const full = { code: 'unavailable', retryable: true }

test('no more requests are in work than allowed, and one that ends makes room for another', () => {
  const admission = createAdmission({ maxRequests: 2, maxBytes: 100 })
  const slot = admission.enter(0)
  admission.enter(0)
  assert.throws(() => admission.enter(0), full)
  slot.release()
  admission.enter(0)
  assert.throws(() => admission.enter(0), full)
})

test('no more bytes are in work than allowed', () => {
  const admission = createAdmission({ maxRequests: 10, maxBytes: 100 })
  const slot = admission.enter(60)
  assert.throws(() => admission.enter(41), full)
  admission.enter(40)
  assert.throws(() => admission.enter(1), full)
  slot.release()
  admission.enter(60)
})

test('a slot is free when everyone who holds it has let go, and only once', () => {
  const admission = createAdmission({ maxRequests: 1, maxBytes: 100 })
  const slot = admission.enter(100)
  slot.hold()
  slot.release()
  assert.throws(() => admission.enter(0), full)
  slot.release()
  assert.equal(admission.requests, 0)
  slot.release()
  assert.equal(admission.requests, 0)
})
