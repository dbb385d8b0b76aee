import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkValue, MAX_VALUES } from '../../../src/wire/value.js'

/** Values that are small in bytes and large in what decoding makes of them: `count` of the same item. */
const SHAPES = /** @type {Record<string, (count: number) => string>} */ ({
  'empty lists': (count) => `[${'[],'.repeat(count)}[]]`,
  'empty objects': (count) => `[${'{},'.repeat(count)}{}]`,
  'empty texts': (count) => `[${'"",'.repeat(count)}""]`,
  numbers: (count) => `[${'1,'.repeat(count)}1]`,
  nulls: (count) => `[${'null,'.repeat(count)}null]`,
  'lists of one': (count) => `[${'[1],'.repeat(count)}[1]]`,
  fields: (count) => `{${'"":1,'.repeat(count)}"":1}`,
  'objects with a field': (count) => `[${'{"a":1},'.repeat(count)}{}]`,
  'lists in lists of 200 levels': (count) => `[${`${'['.repeat(200)}${']'.repeat(200)},`.repeat(count / 200)}[]]`,
  'with white space': (count) => `[${'[ ] , '.repeat(count)}[]]`,
  'after a text with all brackets': (count) => `["[{,\\"]}",${'[],'.repeat(count)}[]]`
})

for (const [shape, make] of Object.entries(SHAPES)) {
  test(`a value with too many values is refused before it is decoded: ${shape}`, (t) => {
    const parse = t.mock.method(JSON, 'parse')
    assert.throws(() => checkValue(Buffer.from(make(MAX_VALUES)), 'application/json'), {
      code: 'bad_value', message: /more than 1048576 values/
    })
    assert.equal(parse.mock.callCount(), 0)
    checkValue(Buffer.from(make(MAX_VALUES / 8)), 'application/json')
    assert.equal(parse.mock.callCount(), 1)
  })
}

test('a value that is nested too deep is refused before it is decoded', (t) => {
  const parse = t.mock.method(JSON, 'parse')
  for (const depth of [257, 1_000_000]) {
    for (const text of ['['.repeat(depth) + ']'.repeat(depth), '['.repeat(depth), '{"a":'.repeat(depth)])
      assert.throws(() => checkValue(Buffer.from(text), 'application/json'), { code: 'bad_value' })
  }
  assert.equal(parse.mock.callCount(), 0)
})

test('no JSON of up to 2 MB has too many values, and brackets and commas in texts do not count', () => {
  checkValue(Buffer.from(`[${'1,'.repeat(MAX_VALUES - 2)}1]`), 'application/json')
  checkValue(Buffer.from(JSON.stringify('[{,:"\\'.repeat(MAX_VALUES))), 'application/json')
})

test('msgpack with too many values is refused, with any kind of item', () => {
  for (const item of [0x00, 0x80, 0x90, 0xa0, 0xc0]) {
    for (const [count, fits] of /** @type {const} */ ([[MAX_VALUES, true], [MAX_VALUES + 1, false]])) {
      const head = Buffer.from([0xdd, 0, 0, 0, 0])
      head.writeUInt32BE(count, 1)
      const value = Buffer.concat([head, Buffer.alloc(count, item)])
      const check = () => checkValue(value, 'application/msgpack')
      if (fits) check()
      else assert.throws(check, { code: 'bad_value' })
    }
  }
})
