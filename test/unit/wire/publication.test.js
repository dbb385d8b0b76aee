import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATORS } from '../../../src/wire/operators.js'
import { SOCKET_IO_EVENTS, checkPublication, isId, isReservedEvent, laneOf } from '../../../src/wire/publication.js'
import { publicationWith } from '../../helpers/publication.js'

/** @typedef {import('../../../src/wire/publication.js').Publication} Publication */

/** Every operator with the targets it needs. @type {Record<string, Partial<Publication>>} */
const COMPLETE = {
  broadcast: { guid: 'minutes' }, user: { guid: undefined, uid: 'ada' },
  device: { guid: undefined, uid: 'ada', device: 'board' }, socket: { guid: undefined, sid: 's1' },
  everyone: { guid: undefined }, kick: { guid: undefined, uid: 'ada' }, revoke: { guid: 'minutes', uid: 'ada' },
  restore: { guid: undefined, uid: 'ada' }, close: { guid: 'minutes', value: Buffer.from('{"code":"moved"}') },
  join: { guid: 'minutes', uid: 'ada' }, leave: { guid: 'minutes', uid: 'ada', value: Buffer.alloc(0) }
}
const check = (/** @type {Partial<Publication>} */ more, maxBytes = 100) =>
  checkPublication(publicationWith(more), { maxBytes })

test('every operator passes with its targets, as the same object', () => {
  assert.deepEqual(Object.keys(COMPLETE), [...OPERATORS])
  for (const [operator, targets] of Object.entries(COMPLETE)) {
    const publication = publicationWith({ operator: /** @type {Publication['operator']} */ (operator), ...targets })
    assert.equal(checkPublication(publication, { maxBytes: 100 }), publication)
  }
  check({ operator: 'kick', guid: undefined, sid: 's1' })
})

test('an operator without one of its targets is refused, and the message names the target', () => {
  for (const [operator, targets] of Object.entries(COMPLETE)) {
    for (const target of /** @type {const} */ (['guid', 'uid', 'sid', 'device'])) {
      if (targets[target] === undefined) continue
      assert.throws(
        () => check({ operator: /** @type {Publication['operator']} */ (operator), ...targets, [target]: undefined }),
        { code: 'missing_target', message: new RegExp(`${operator} needs .*x-${target}`) }
      )
    }
  }
})

test('an unknown operator is refused', () => {
  for (const operator of ['', 'Broadcast', 'constructor', undefined]) {
    assert.throws(() => check({ operator: /** @type {any} */ (operator) }), { code: 'unknown_operator' })
  }
})

test('an invalid target is refused, also if the operator does not need it', () => {
  for (const target of /** @type {const} */ (['guid', 'uid', 'sid'])) {
    for (const id of ['', 'a\nb', 'x'.repeat(257), 7]) {
      assert.throws(() => check({ operator: 'everyone', guid: undefined, [target]: id }), {
        code: 'bad_target',
        message: `x-${target} is not a valid id: an id has 1 to 256 bytes of UTF-8, and no control characters`
      })
    }
  }
})

test('the message about an event name says which one is reserved', () => {
  assert.throws(() => check({ event: 'doc:join' }), { code: 'reserved_event', message: /the event name "doc:join" is reserved/ })
})

test('reserved event names are refused, but similar names are accepted', () => {
  for (const event of [...SOCKET_IO_EVENTS, 'doc:join', 'doc:', 'gateway:draining', 'auth:refresh', 'auth:x']) {
    assert.equal(isReservedEvent(event), true)
    assert.throws(() => check({ event }), { code: 'reserved_event' }, event)
  }
  for (const event of [
    'message',
    'Connect',
    'connected',
    'document:join',
    'doc',
    'xdoc:join',
    'DOC:join',
    'constructor',
    '__proto__'
  ])
    check({ event })
  for (const event of ['', 'a\u0000b', 'x'.repeat(257)]) assert.throws(() => check({ event }), { code: 'bad_header' })
})

test('the size of a value is limited, for every operator', () => {
  check({ value: Buffer.from('1'.repeat(100)) })
  for (const operator of /** @type {const} */ (['broadcast', 'kick'])) {
    assert.throws(() => check({ operator, ...COMPLETE[operator], value: Buffer.from('1'.repeat(101)) }), {
      code: 'value_too_large',
      message: 'the value has 101 bytes, 100 are allowed'
    })
  }
})

test('the value is checked, except if it is not delivered', () => {
  const broken = { value: Buffer.from('{') }
  for (const operator of /** @type {const} */ (['broadcast', 'user', 'everyone']))
    assert.throws(() => check({ operator, ...COMPLETE[operator], ...broken }), { code: 'bad_value' })
  for (const operator of /** @type {const} */ (['kick', 'revoke'])) check({ operator, ...COMPLETE[operator], ...broken })
  assert.throws(() => check({ contentType: /** @type {any} */ ('text/plain') }), { code: 'bad_content_type' })
})

test('an id has 1 to 256 bytes of UTF-8 and no control characters', () => {
  for (const id of [
    'a',
    ' ',
    'a/b*?#&',
    'x'.repeat(85),
    'x'.repeat(86),
    'x'.repeat(256),
    'ü'.repeat(128),
    '文'.repeat(85),
    '🖋'.repeat(64)
  ])
    assert.equal(isId(id), true, id)
  for (const id of [
    '',
    'x'.repeat(257),
    'ü'.repeat(128) + 'x',
    '文'.repeat(86),
    '🖋'.repeat(64) + 'x',
    'a\u0000',
    '\n',
    '\u001f',
    '\u007f',
    7,
    null,
    undefined,
    {},
    ['a']
  ])
    assert.equal(isId(id), false, String(id))
})

test('half a surrogate pair is not an id: it would be encoded to the same bytes as another one', () => {
  assert.equal(Buffer.from('a\ud800').toString(), Buffer.from('a\ufffd').toString())
  for (const id of ['a\ud800', '\udc00b', '\udc00\ud800']) assert.equal(isId(id), false)
})

test('publications that must keep their order share a lane, others do not', () => {
  const lane = (/** @type {Partial<Publication>} */ more) => laneOf(publicationWith({ guid: undefined, ...more }))
  assert.equal(lane({ operator: 'broadcast', guid: 'a' }), lane({ operator: 'broadcast', guid: 'a', uid: 'ada' }))
  // a user's records, and a kick
  assert.equal(lane({ operator: 'user', uid: 'ada' }), lane({ operator: 'kick', uid: 'ada' }))
  assert.equal(lane({ operator: 'user', uid: 'ada' }), lane({ operator: 'revoke', uid: 'ada', guid: 'a' }))
  assert.equal(lane({ operator: 'socket', sid: 's1' }), lane({ operator: 'kick', sid: 's1' }))
  const different = [
    lane({ operator: 'broadcast', guid: 'a' }),
    lane({ operator: 'broadcast', guid: 'b' }),
    lane({ operator: 'user', uid: 'a' }),
    lane({ operator: 'socket', sid: 'a' }),
    lane({ operator: 'everyone' })
  ]
  assert.equal(new Set(different).size, different.length)
})
