import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { authSchema, readDocuments } from '../../../src/gateway/handshake.js'
import { schema as joinSchema } from '../../../src/gateway/handlers/join.js'
import { schema as stateSchema } from '../../../src/gateway/handlers/state.js'

test('what a handshake says of a document cannot name another one', () => {
  assert.deepEqual(
    readDocuments({ minutes: { epoch: 'e', offset: 1 }, plan: null }),
    new Map([
      ['minutes', { position: { epoch: 'e', offset: 1 } }],
      ['plan', null]
    ])
  )
  for (const opening of [{ guid: 'other' }, { guid: 'minutes' }, { epoch: 'e', offset: 1, guid: 'other' }]) {
    assert.throws(() => readDocuments({ minutes: opening }), { code: 'bad_request' }, JSON.stringify(opening))
  }
})

describe('what a client may make very large is not walked', () => {
  const unseen = { get value () { return assert.fail('this was looked at') } }

  test('in the documents of a handshake, after the first that is wrong', () => {
    assert.ok(authSchema.safeParse({ token: 'x', documents: unseen, other: unseen }).success)
    for (const [wrong, message] of /** @type {[object, RegExp][]} */ ([
      [{ 'a\nb': null }, /^documents\.a\nb: guid must be/],
      [{ minutes: 1 }, /^documents\.minutes: /],
      [{ minutes: { epoch: 'e' } }, /^documents\.minutes: epoch and offset go together$/],
      [{ minutes: { epoch: 'e', offset: -1 } }, /^documents\.minutes\.offset: /],
      [{ minutes: { guid: 'other' } }, /^documents\.minutes: .*"guid"/]
    ])) {
      const documents = Object.defineProperty({ plan: null, ...wrong }, 'last', {
        enumerable: true,
        get: () => assert.fail('this was looked at')
      })
      assert.throws(() => readDocuments(documents), { code: 'bad_request', message })
    }
  })

  test('in a presence state, by a schema', () => {
    assert.ok(joinSchema.safeParse({ guid: 'minutes', state: unseen }).success)
    assert.ok(stateSchema.safeParse({ guid: 'minutes', state: unseen }).success)
    assert.equal(readDocuments({ minutes: { state: unseen } }).get('minutes')?.state, unseen)
  })
})

test('a presence state is an object with fields', () => {
  for (const state of [
    null,
    [],
    'text',
    5,
    new Date(),
    Buffer.from('x'),
    new ArrayBuffer(1),
    Object.create({ more: 1 })
  ]) {
    assert.ok(!stateSchema.safeParse({ guid: 'minutes', state }).success)
  }
})
