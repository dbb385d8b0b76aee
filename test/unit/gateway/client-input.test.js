import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { authSchema, isPlainAuth, readDocuments } from '../../../src/gateway/handshake-auth.js'
import { isGuidOnly } from '../../../src/gateway/handlers/input.js'
import { schema as joinSchema } from '../../../src/gateway/handlers/join.js'
import { schema as stateSchema } from '../../../src/gateway/handlers/state.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

const NO_OBJECTS = [
  undefined, null, 0, 1, true,
  '',
  'token',
  [],
  ['minutes'],
  Object.assign([], { guid: 'minutes' }),
  Buffer.from('x'),
  () => 1
]
const IDS = [
  'minutes',
  'minutes',
  'minutes',
  '',
  'a\nb',
  'x'.repeat(256),
  'x'.repeat(257),
  'ü'.repeat(129),
  '\ud800',
  null,
  7,
  {},
  ['minutes']
]

/**
 * Objects with some of these fields, and sometimes others.
 * @param {Record<string, unknown[]>} fields
 */
function* objectsWith (fields) {
  const random = seededRandom(11)
  for (const value of NO_OBJECTS) yield value
  for (let i = 0; i < 5000; i++) {
    /** @type {Record<string, unknown>} */
    const object = random() < 0.05 ? Object.create({ inherited: 1 }) : {}
    for (const [field, values] of Object.entries(fields))
      if (random() < 0.6) object[field] = values[Math.floor(random() * values.length)]
    if (random() < 0.1)
      object[['__proto__', 'constructor', 'other', ''][Math.floor(random() * 4)]] = randomValue(random, { depth: 1 })
    // JSON.parse makes `__proto__` an own field
    yield random() < 0.5 ? object : JSON.parse(JSON.stringify(object).replace('"other"', '"__proto__"'))
  }
}

describe('input that passes the quick check', () => {
  test('of a handshake equals the result of the schema', () => {
    let seen = 0
    for (const auth of objectsWith({ token: ['x', 'x', '', 7, null, {}], client: IDS })) {
      if (!isPlainAuth(auth)) continue
      seen++
      const parsed = authSchema.safeParse(auth)
      assert.ok(parsed.success, JSON.stringify(auth))
      assert.deepEqual({ ...parsed.data }, { ...auth })
    }
    assert.ok(seen > 500)
  })

  test('of a guid equals the result of the schema of doc:join', () => {
    let seen = 0
    for (const input of objectsWith({ guid: IDS })) {
      if (!isGuidOnly(input)) continue
      seen++
      const parsed = joinSchema.safeParse(input)
      assert.ok(parsed.success, JSON.stringify(input))
      assert.deepEqual(parsed.data, { guid: input.guid })
    }
    assert.ok(seen > 500)
  })

  test('includes the input of most clients', () => {
    for (const auth of [{}, { token: 'x' }, { token: 'x', client: 'tab' }]) assert.ok(isPlainAuth(auth))
    for (const auth of [{ token: null }, { documents: {} }, { more: 1 }, [], null, 'x']) assert.ok(!isPlainAuth(auth))
    assert.ok(isGuidOnly({ guid: 'minutes' }))
    for (const input of [{ guid: 'minutes', state: {} }, { guid: '' }, {}, [], null, 'minutes'])
      assert.ok(!isGuidOnly(input))
  })
})

test('an entry of a handshake cannot name another document', () => {
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

describe('input of unlimited size is not traversed', () => {
  const unseen = { get value () { return assert.fail('this was read') } }

  test('in the documents of a handshake, after the first error', () => {
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
        get: () => assert.fail('this was read')
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
