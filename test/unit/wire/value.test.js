import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { checkValue } from '../../../src/wire/value.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

const SEED = Number(process.env.TEST_SEED ?? 20_262)
const json = (/** @type {string | Buffer} */ text) => checkValue(Buffer.from(text), 'application/json')

test('any JSON text passes, with any white space and escapes', () => {
  for (const text of [
    '1',
    '""',
    'null',
    'true',
    '[]',
    '{}',
    ' {\n"a" : [ 1.5e3 , "\\u00fc\\n\\"" ]\t}\r\n',
    '"\u2028"',
    '12345678901234567890',
    '{"a":1,"a":2}',
    '{"__proto__":1}',
    '"\\ud800"'
  ])
    json(text)
  const random = seededRandom(SEED)
  for (let i = 0; i < 300; i++) json(JSON.stringify(randomValue(random), null, i % 3))
})

test('input other than exactly one JSON text is refused', () => {
  for (const text of [
    '',
    ' ',
    '1,"x"',
    '1 2',
    '{',
    '[1,]',
    '{\'a\':1}',
    '{a:1}',
    'NaN',
    'undefined',
    '01',
    '"\n"',
    '"\u001e"',
    '\u001e',
    '\ufeff1',
    '1\u0000',
    '"abc',
    '//\n1',
    '"\\x"'
  ]) {
    assert.throws(() => json(text), { code: 'bad_value' }, JSON.stringify(text))
  }
})

test('bytes that are not UTF-8 are refused, at any position', () => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc3, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0xff, 0xfe, 0x31, 0],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22]
  ]) {
    assert.throws(() => json(Buffer.from(bytes)), { code: 'bad_utf8' })
  }
})

test('JSON may be nested 256 levels deep; brackets in strings do not count', () => {
  const nested = (/** @type {number} */ levels, open = '[', close = ']') =>
    open.repeat(levels) + '1' + close.repeat(levels)
  json(nested(256))
  json(nested(256, '{"a":', '}'))
  for (const text of [nested(257), nested(257, '{"a":', '}'), nested(129, '[{"a":', '}]'), nested(500_000)])
    assert.throws(() => json(text), { code: 'bad_value', message: /deeper than 256/ })
  json(JSON.stringify('['.repeat(1000)))
  json(JSON.stringify([`"${'['.repeat(1000)}`, `\\"${'{'.repeat(1000)}\\`]))
  json(`[${'[],{},'.repeat(1000)}[]]`)
  assert.throws(() => json(`{"a\\"]":"}}}}","b":${nested(256)}}`), { code: 'bad_value', message: /deeper/ })
})

test('JSON texts with bytes changed at random are refused by an error of the table, or are JSON', () => {
  const random = seededRandom(SEED)
  for (let i = 0; i < 3000; i++) {
    const bytes = Buffer.from(JSON.stringify(randomValue(random, { depth: 2 })))
    if (bytes.length > 2000) continue
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    try {
      json(bytes)
      JSON.parse(bytes.toString())
    } catch (error) {
      assert.ok(
        error instanceof InkcastError && ['bad_value', 'bad_utf8'].includes(error.code),
        `seed ${SEED}, change ${i}: ${error}`
      )
    }
  }
})

test('msgpack that cannot be converted for a JSON client is refused', () => {
  const check = (/** @type {number[]} */ ...bytes) => checkValue(Buffer.from(bytes), 'application/msgpack')
  check(0x81, 0xa1, 0x61, 1)
  for (const bytes of [
    [0x81, 0x80, 1],
    [0x81, 0xc0, 1],
    [0x81, 0xc4, 1, 0x61, 1],
    [0xd5, 0xff, 0, 0]
  ])
    assert.throws(() => check(...bytes), { code: 'bad_value' })
})

test('other content types are refused', () => {
  for (const type of ['', 'text/plain', 'application/JSON', 'application/json; charset=utf-8'])
    assert.throws(() => checkValue(Buffer.from('1'), type), { code: 'bad_content_type' })
})

test('a value that is not JSON is named as what it looks like, with the place and without a part of it', () => {
  for (const [value, message] of /** @type {[Buffer | string, RegExp][]} */ ([
    ['', /^the value is empty/],
    ['\ufeff{}', /^the value begins with a byte order mark \(ef bb bf\)/],
    [Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), Buffer.from('{"a":1}')]), /^the value begins with 0000000007, .* schema registry/],
    [Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), Buffer.from([0x02, 0xff])]), /^the value begins with 0000000007, .* schema registry/],
    ['{"secret":1} {"secret":2}', /^the value is not valid JSON at character 13$/],
    ['{"secret":"word"', /^the value is not valid JSON(?: at character 16|: it ends too early, after 16 characters)$/],
    ['{"secret":NaN}', /^the value is not valid JSON: JSON has neither NaN nor Infinity$/],
    ['[Infinity]', /neither NaN nor Infinity$/],
    ['secret', /^the value is not valid JSON$/]
  ])) {
    assert.throws(() => checkValue(Buffer.from(value), 'application/json'), (/** @type {any} */ error) => {
      assert.match(error.message, message)
      assert.ok(!error.message.includes('secret') || message.source.includes('secret'), error.message)
      assert.match(error.code, /^bad_(?:value|utf8)$/)
      return true
    })
  }
})
