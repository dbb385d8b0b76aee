import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS, InkcastError, publicError } from '../../../src/base/common/errors.js'

test('an error has the values of the table, and its own message if there is one', () => {
  const error = new InkcastError('unavailable')
  assert.deepEqual(
    [error.name, error.code, error.message, error.retryable, error.status],
    ['InkcastError', 'unavailable', ERRORS.unavailable.message, true, 503]
  )
  const cause = new Error('why')
  const specific = new InkcastError('bad_header', 'x-event is not a valid name', { cause })
  assert.deepEqual(
    [specific.message, specific.retryable, specific.status, specific.cause],
    ['x-event is not a valid name', false, 400, cause]
  )
  assert.ok(specific instanceof Error)
})

test('errors of the table show code, message and retryability; all others are internal and show nothing', () => {
  assert.deepEqual(publicError(new InkcastError('bad_value', 'not JSON', { cause: new Error('secret') })), {
    code: 'bad_value',
    message: 'not JSON',
    retryable: false
  })
  const hidden = { code: 'internal', message: ERRORS.internal.message, retryable: true }
  for (const thrown of [
    new Error('secret'),
    new TypeError('secret'),
    Object.assign(new Error('secret'), { code: 'bad_value' }),
    'secret',
    null,
    undefined,
    { code: 'bad_value', message: 'secret' }
  ])
    assert.deepEqual(publicError(thrown), hidden)
})

test('every entry is complete: an error status, texts for the page, and 5xx exactly if a retry may help', () => {
  for (const [code, { message, retryable, status, when }] of Object.entries(ERRORS)) {
    assert.match(code, /^[a-z]+(_[a-z0-9]+)*$/)
    assert.ok(Number.isInteger(status) && status >= 400 && status < 600, code)
    assert.ok(message.length > 0 && !message.endsWith('.'), code)
    assert.match(when, /^[A-Z`].*\.$/s, code)
    if (status >= 500) assert.equal(retryable, true, code)
  }
})
