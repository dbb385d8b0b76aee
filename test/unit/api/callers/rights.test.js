import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_RIGHTS, checkRights, rightsOf } from '../../../../src/services/api/callers/rights.js'

/**
 * @param {Parameters<typeof rightsOf>[0]} settings
 * @returns {(request: any) => boolean} whether it is allowed
 */
const decider = (settings) => (request) => {
  try {
    checkRights('editor', rightsOf(settings), request)
    return true
  } catch (error) {
    assert.equal(/** @type {any} */ (error).code, 'forbidden')
    return false
  }
}

test('operators decide on publications, operations on the others, and neither on the other', () => {
  const may = decider({ operators: ['broadcast'], operations: ['history'] })
  assert.equal(may({ operator: 'broadcast', guid: 'a' }), true)
  assert.equal(may({ operation: 'history', guid: 'a' }), true)
  assert.equal(may({ operator: 'kick', uid: 'ada' }), false)
  assert.equal(may({ operation: 'cut', guid: 'a' }), false)
  assert.equal(may({ operation: 'broadcast', guid: 'a' }), false)
  assert.equal(may({ operator: 'history', guid: 'a' }), false)
})

test('a list that is missing or empty allows nothing, and * everything', () => {
  assert.equal(decider({ operations: ['*'] })({ operator: 'broadcast', guid: 'a' }), false)
  assert.equal(decider({ operators: ['*'], operations: [] })({ operation: 'history', guid: 'a' }), false)
  assert.equal(decider({ operators: ['*'] })({ operator: 'everyone' }), true)
  assert.equal(decider({ operations: ['*'] })({ operation: 'overview' }), true)
  assert.equal(decider({ operators: ['broadcast'], guids: [] })({ operator: 'broadcast', guid: 'a' }), false)
})

test('every target that is given must match', () => {
  const may = decider({ operators: ['*'], operations: ['*'], guids: ['notes/*'], uids: ['team-*'] })
  for (const [expected, request] of /** @type {[boolean, object][]} */ ([
    [true, { operator: 'broadcast', guid: 'notes/1' }],
    [false, { operator: 'broadcast', guid: 'minutes' }],
    [true, { operator: 'user', uid: 'team-ada' }],
    [false, { operator: 'user', uid: 'ada' }],
    [true, { operator: 'revoke', guid: 'notes/1', uid: 'team-ada' }],
    [false, { operator: 'revoke', guid: 'minutes', uid: 'team-ada' }],
    [false, { operator: 'revoke', guid: 'notes/1', uid: 'ada' }],
    [true, { operation: 'history', guid: 'notes/1' }],
    [false, { operation: 'history', guid: 'minutes' }],
    [false, { operation: 'sessions', uid: 'ada' }]
  ])) assert.equal(may(request), expected, JSON.stringify(request))
})

test('connections may be any user\'s: to name one needs the right to all users', () => {
  const request = { operator: 'kick', sid: 'abc', uid: 'team-ada' }
  assert.equal(decider({ operators: ['*'], uids: ['team-*'] })(request), false)
  assert.equal(decider({ operators: ['*'], uids: ['team-*'] })({ operator: 'socket', sid: 'abc' }), false)
  assert.equal(decider({ operators: ['*'], guids: ['notes/*'] })({ operator: 'socket', sid: 'abc' }), true)
})

test('what has no target reaches everybody: it needs the right to all of them, a list at least to its prefix', () => {
  for (const limited of [{ guids: ['notes/*'] }, { uids: ['team-*'] }]) {
    const may = decider({ operators: ['*'], operations: ['*'], ...limited })
    assert.equal(may({ operator: 'everyone' }), false)
    assert.equal(may({ operation: 'overview' }), false)
  }
  const may = decider({ operations: ['*'], guids: ['notes/*'], uids: ['team-*'] })
  assert.equal(may({ operation: 'documents', prefix: 'notes/2026' }), true)
  for (const prefix of ['', 'n', 'minutes']) assert.equal(may({ operation: 'documents', prefix }), false, prefix)
})

test('a caller of API_TOKENS may do everything', () => {
  for (const request of [{ operator: 'everyone' }, { operator: 'kick', sid: 'a' }, { operation: 'overview' }])
    checkRights('editor', ALL_RIGHTS, /** @type {any} */ (request))
})

test('the message names the caller and the reason, not the target', () => {
  const rights = rightsOf({ operators: ['broadcast'], guids: ['notes/*'] })
  assert.throws(() => checkRights('editor', rights, { operator: 'kick', uid: 'ada' }), {
    message: 'the caller editor may not use the operator kick'
  })
  assert.throws(() => checkRights('editor', rights, { operator: 'broadcast', guid: 'secret plans' }), {
    message: 'the caller editor has no right to this document'
  })
})
