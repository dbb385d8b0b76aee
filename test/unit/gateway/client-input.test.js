import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from '../../../src/base/common/schema.js'
import { authSchema, isPlainAuth, readAuth, readDocuments } from '../../../src/gateway/handshake-auth.js'
import { isGuidOnly, parseInput } from '../../../src/gateway/handlers/input.js'
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
    for (const auth of objectsWith({ token: ['x', 'x', '', 7, null, {}], client: IDS, acknowledges: [true, false, 1, 'true', null] })) {
      if (!isPlainAuth(auth)) continue
      seen++
      const { value, problem } = parse(authSchema, auth)
      assert.equal(problem, undefined, JSON.stringify(auth))
      assert.deepEqual({ ...value }, { ...auth })
    }
    assert.ok(seen > 500)
  })

  test('of a guid equals the result of the schema of doc:join', () => {
    let seen = 0
    for (const input of objectsWith({ guid: IDS })) {
      if (!isGuidOnly(input)) continue
      seen++
      assert.deepEqual(parse(joinSchema, input), { value: { guid: input.guid } }, JSON.stringify(input))
    }
    assert.ok(seen > 500)
  })

  test('includes the input of most clients', () => {
    for (const auth of [{}, { token: 'x' }, { token: 'x', client: 'tab', acknowledges: true }])
      assert.ok(isPlainAuth(auth))
    for (const auth of [{ token: null }, { documents: {} }, { more: 1 }, [], null, 'x']) assert.ok(!isPlainAuth(auth))
    assert.ok(isGuidOnly({ guid: 'minutes' }))
    for (const input of [{ guid: 'minutes', state: {} }, { guid: '' }, {}, [], null, 'minutes'])
      assert.ok(!isGuidOnly(input))
  })
})

/** @param {Record<string, unknown>} documents @param {RegExp} message of the error of `minutes`, or of the only one */
function refusedOf (documents, message) {
  const read = readDocuments(documents)
  const error = /** @type {any} */ (read.get('minutes') ?? [...read.values()].at(-1))
  assert.equal(error.code, 'bad_request')
  assert.match(error.message, message)
}

test('an entry of a handshake cannot name another document', () => {
  assert.deepEqual(
    readDocuments({ minutes: { epoch: 'e', offset: 1 }, plan: null }),
    new Map([
      ['minutes', { position: { epoch: 'e', offset: 1 } }],
      ['plan', null]
    ])
  )
  for (const opening of [{ guid: 'other' }, { guid: 'minutes' }, { epoch: 'e', offset: 1, guid: 'other' }]) {
    refusedOf({ minutes: opening }, /^documents\.minutes/)
  }
})

describe('input of unlimited size is not traversed', () => {
  const unseen = { get value () { return assert.fail('this was read') } }

  test('in the documents of a handshake, and an invalid one leaves the others as they are', () => {
    assert.ok('value' in parse(authSchema, { token: 'x', documents: unseen, other: unseen }))
    for (const [wrong, message] of /** @type {[Record<string, unknown>, RegExp][]} */ ([
      [{ 'a\nb': null }, /^documents\.a\nb: must be a string of 1 to 256 bytes/],
      [{ minutes: 1 }, /^documents\.minutes: /],
      [{ minutes: { epoch: 'e' } }, /^documents\.minutes: must have both epoch and offset, or neither$/],
      [{ minutes: { epoch: 'e', offset: -1 } }, /^documents\.minutes\.offset: /],
      [{ minutes: { guid: 'other' } }, /^documents\.minutes: .*"guid"/],
      [{ minutes: { more: unseen } }, /^documents\.minutes: .*"more"/]
    ])) {
      refusedOf(wrong, message)
      const read = readDocuments({ plan: null, ...wrong, notes: { members: true } })
      assert.deepEqual([read.size, read.get('plan'), read.get('notes')], [3, null, { position: null, members: true }])
    }
  })

  test('in a presence state, by a schema', () => {
    assert.ok('value' in parse(joinSchema, { guid: 'minutes', state: unseen }))
    assert.ok('value' in parse(stateSchema, { guid: 'minutes', state: unseen }))
    assert.equal(/** @type {any} */ (readDocuments({ minutes: { state: unseen } }).get('minutes')).state, unseen)
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
    assert.deepEqual(parse(stateSchema, { guid: 'minutes', state }), {
      problem: { path: ['state'], message: 'must be an object' }
    })
  }
})

test('the message of a wrong request says where it is wrong, or that the whole request is', () => {
  /** @type {[unknown, string][]} */
  const cases = [
    [undefined, 'the request must be an object'],
    [{ guid: 'minutes', more: 1 }, 'the request has an unknown field "more"'],
    [{}, 'guid: is missing'],
    [{ guid: 'minutes', position: { epoch: 1, offset: 0 } }, 'position.epoch: must be a string']
  ]
  for (const [input, message] of cases)
    assert.throws(() => parseInput(joinSchema, input), { code: 'bad_request', message })
})

test('an object with another prototype is refused without a look at its fields', () => {
  const fail = () => assert.fail('it was looked at')
  const seen = new Proxy({}, { get: fail, has: fail, ownKeys: fail, getOwnPropertyDescriptor: fail })
  for (const prototype of [seen, Buffer.alloc(9), Object.create(null)]) {
    const made = (fields = {}) => Object.setPrototypeOf(fields, prototype)
    for (const use of [
      () => parseInput(joinSchema, made({ guid: 'minutes' })),
      () => parseInput(joinSchema, { guid: 'minutes', position: made({ epoch: 'e' }) }),
      () => readAuth(made())
    ])
      assert.throws(use, { code: 'bad_request' })
    assert.deepEqual(readAuth({ user: made() }).refused?.map(({ field, error }) => [field, error.code]), [
      ['user', 'bad_request']
    ])
    refusedOf({ minutes: made() }, /^documents\.minutes: must be an object$/)
    assert.equal(isGuidOnly(made({ guid: 'minutes' })), false)
  }
  assert.throws(() => readAuth(Buffer.alloc(9)), { code: 'bad_request' })
})
