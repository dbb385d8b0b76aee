import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import {
  array, boolean, custom, number, object, oneOf, parse, record, strictObject, string, wholeNumber
} from '../../../src/base/common/schema.js'

/** @param {v.GenericSchema} schema @param {unknown} input @returns {string} */
const problemOf = (schema, input) => {
  const { problem } = parse(schema, input)
  assert.ok(problem, `${JSON.stringify(input)} was accepted`)
  return [problem.path.join('.'), problem.message].filter((part) => part !== '').join(': ')
}

const user = strictObject({
  name: v.pipe(string(), v.nonEmpty(), v.maxCodePoints(3)),
  age: v.optional(wholeNumber(1, 150)),
  size: v.optional(v.pipe(number(), v.minValue(0.5))),
  admin: v.optional(boolean()),
  color: v.optional(oneOf(['red', 'blue'])),
  friends: v.optional(v.pipe(array(object({ name: string() })), v.maxLength(1))),
  even: v.optional(custom(
    /** @type {(value: unknown) => value is number} */ ((value) => Number(value) % 2 === 0),
    'must be even'
  )),
  counts: v.optional(record(number(), oneOf(['a', 'constructor'])))
})

test('a problem says what is wrong, in plain words', () => {
  for (const [input, problem] of /** @type {[unknown, string][]} */ ([
    [undefined, 'must be an object'],
    [null, 'must be an object'],
    ['Ada', 'must be an object'],
    [[], 'must be an object'],
    [Object.assign([], { name: 'Ada' }), 'must be an object'],
    [{}, 'name: is missing'],
    [{ name: undefined }, 'name: must be a string'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'Adam' }, 'name: must have at most 3 characters'],
    [{ name: 'Ada', age: '7' }, 'age: must be a number'],
    [{ name: 'Ada', age: NaN }, 'age: must be a number'],
    [{ name: 'Ada', age: Infinity }, 'age: must be a whole number'],
    [{ name: 'Ada', age: 1.5 }, 'age: must be a whole number'],
    [{ name: 'Ada', age: 0 }, 'age: must be at least 1'],
    [{ name: 'Ada', age: 2 ** 60 }, 'age: must be at most 150'],
    [{ name: 'Ada', size: -Infinity }, 'size: must be at least 0.5'],
    [{ name: 'Ada', admin: 1 }, 'admin: must be true or false'],
    [{ name: 'Ada', color: 'green' }, 'color: must be one of red, blue'],
    [{ name: 'Ada', friends: {} }, 'friends: must be an array'],
    [{ name: 'Ada', friends: [{ name: 'Bo' }, {}] }, 'friends.1.name: is missing'],
    [{ name: 'Ada', friends: [{ name: 'Bo' }, { name: 'Cy' }] }, 'friends: must have at most 1 entries'],
    [{ name: 'Ada', even: 3 }, 'even: must be even'],
    [{ name: 'Ada', counts: [] }, 'counts: must be an object'],
    [{ name: 'Ada', counts: { b: 1, a: 'x' } }, 'counts.b: must be one of a, constructor'],
    [{ name: 'Ada', counts: { a: 'x' } }, 'counts.a: must be a number'],
    [{ name: 'Ada', counts: JSON.parse('{ "__proto__": 2 }') }, 'counts.__proto__: must be one of a, constructor'],
    [{ name: 'Ada', counts: { b: 1, a: 1 } }, 'counts.b: must be one of a, constructor'],
    [{ name: 'Ada', nick: 'A', 'a"b': 1 }, 'has an unknown field "nick"'],
    [{ name: 'Ada', 'a"\n': 1 }, 'has an unknown field "a\\"\\n"'],
    [JSON.parse('{ "name": "Ada", "__proto__": 1 }'), 'has an unknown field "__proto__"'],
    [JSON.parse('{ "name": "Ada", "constructor": 1 }'), 'has an unknown field "constructor"']
  ])) assert.equal(problemOf(user, input), problem)
})

test('values that are right come back without fields that are not known', () => {
  const given = {
    name: '\u{1F58B}'.repeat(3),
    age: 150,
    friends: [{ name: 'Bo', constructor: 1, other: 2 }],
    counts: { constructor: 1, a: 3 }
  }
  const { value } = parse(user, given)
  assert.deepEqual(value, { ...given, friends: [{ name: 'Bo' }] })
})

test('the class of a value that is refused is not looked at: clients choose the prototypes of their objects', () => {
  const value = Object.create({ get constructor () { return assert.fail('this was read') } })
  for (const schema of [
    string(), number(), boolean(), wholeNumber(1), oneOf(['a']), array(string()), strictObject({ a: string() }),
    v.optional(string()), v.nullish(custom((value) => typeof value === 'string', 'must be text'))
  ]) problemOf(schema, value)
  problemOf(strictObject({ a: strictObject({ b: string() }) }), { a: { b: value } })
})

test('messages that an extension sets in valibot are not used', (t) => {
  const received = ({ received = '' }) => received
  v.setGlobalMessage(received)
  v.setSchemaMessage(received)
  v.setSpecificMessage(v.string, received)
  t.after(() => {
    v.deleteGlobalMessage()
    v.deleteSchemaMessage()
    v.deleteSpecificMessage(v.string)
  })
  assert.equal(problemOf(user, { name: 7 }), 'name: must be a string')
  assert.equal(problemOf(user, { name: 'Adam' }), 'name: must have at most 3 characters')
})
