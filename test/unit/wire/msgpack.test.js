import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { decode, ExtData, encode } from '@msgpack/msgpack'
import { InkcastError } from '../../../src/base/common/errors.js'
import { checkMsgpack, decodeMsgpack, encodeMsgpack } from '../../../src/wire/msgpack.js'
import { checkValue } from '../../../src/wire/value.js'
import { collectGarbage } from '../../helpers/collect-garbage.js'
import { randomValue, seededRandom } from '../../helpers/random.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * Encoder of Socket.IO's msgpack clients.
 * @type {{ encode: (value: unknown) => Buffer, decode: (bytes: Uint8Array) => unknown }}
 */
const notepack = createRequire(createRequire(import.meta.url).resolve('socket.io-msgpack-parser'))('notepack.io')

const SEED = Number(process.env.TEST_SEED ?? 20_261)
const bytes = (/** @type {number[]} */ ...numbers) => Buffer.from(numbers)
const check = (/** @type {Buffer} */ value, maxDepth = 256) => checkMsgpack(value, maxDepth)

/** @param {unknown} value @param {number} levels */
const nested = (value, levels) => { for (let i = 0; i < levels; i++) value = [value]; return value }

test('all output of the two encoders passes, and is refused if it is shorter or longer', () => {
  const random = seededRandom(SEED)
  const others = [
    Buffer.alloc(0),
    Buffer.alloc(300, 0xff),
    Buffer.alloc(70_000, 0xc1),
    new Date(1_700_000_000_123),
    new Date(0)
  ]
  for (let i = 0; i < 400; i++) {
    const value = randomValue(random, { others: i % 2 ? others : [] })
    for (const encoded of [encodeMsgpack(value), Buffer.from(notepack.encode(value))]) {
      const about = `seed ${SEED}, value ${i}`
      assert.doesNotThrow(() => check(encoded), about)
      assert.throws(() => check(Buffer.concat([encoded, bytes(0)])), { code: 'bad_value' }, about)
      for (let cut = 0; cut < 20; cut++) {
        const length = Math.floor(random() * encoded.length)
        assert.throws(
          () => check(encoded.subarray(0, length)),
          { name: 'InkcastError' },
          `${about}, first ${length} bytes`
        )
      }
    }
  }
})

test('bytes changed at random are refused by an error of the table, or can be decoded', () => {
  const random = seededRandom(SEED)
  let refused = 0
  for (let i = 0; i < 3000; i++) {
    const encoded = Buffer.from(encodeMsgpack(randomValue(random, { depth: 3 })))
    if (encoded.length > 2000) continue
    for (let change = 0; change <= random() * 4; change++)
      encoded[Math.floor(random() * encoded.length)] = Math.floor(random() * 256)
    try {
      checkValue(encoded, 'application/msgpack')
      JSON.stringify(decodeMsgpack(encoded))
    } catch (error) {
      assert.ok(
        error instanceof InkcastError && ['bad_value', 'bad_utf8'].includes(error.code),
        `seed ${SEED}, change ${i}: ${error}\n${encoded.toString('hex')}`
      )
      refused++
    }
  }
  assert.ok(refused > 300, `${refused} refused`)
})

test('random bytes are refused by an error of the table', () => {
  const random = seededRandom(SEED)
  for (let i = 0; i < 20_000; i++) {
    const noise = Buffer.from(
      Array.from({ length: Math.floor(random() * 40) }, () => (random() < 0.3 ? 0xdd : Math.floor(random() * 256)))
    )
    try {
      check(noise)
    } catch (error) {
      assert.ok(error instanceof InkcastError, `${error}\n${noise.toString('hex')}`)
    }
  }
})

test('every first byte is read as in the specification', () => {
  // a value that starts with this byte, followed by the required number of zeros; -1: never a value
  const needs = (/** @type {number} */ type) => {
    if (type <= 0x7f || type >= 0xe0) return 0
    if (type <= 0x8f) return (type & 15) * 2
    if (type <= 0x9f) return type & 15
    if (type <= 0xbf) return type & 31
    return [0, -1, 0, 0, 1, 2, 4, 2, 3, 5, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4][
      type - 0xc0
    ]
  }
  for (let type = 0; type < 256; type++) {
    const zeros = needs(type)
    const value = Buffer.concat([bytes(type), Buffer.alloc(Math.max(zeros, 0))])
    if (zeros === -1) assert.throws(() => check(value), { code: 'bad_value', message: /0xc1/ })
    else assert.doesNotThrow(() => check(value), `0x${type.toString(16)}`)
    if (zeros > 0) assert.throws(() => check(value.subarray(0, -1)), { code: 'bad_value' }, `0x${type.toString(16)}`)
  }
})

test('strings must be UTF-8, also as keys; binary data need not be', () => {
  for (const broken of [
    bytes(0xa1, 0xff),
    bytes(0xd9, 2, 0xc3, 0x28),
    bytes(0xda, 0, 3, 0xed, 0xa0, 0x80),
    bytes(0x81, 0xa1, 0xff, 1),
    bytes(0x91, 0xa2, 0xc0, 0x80)
  ]) {
    assert.throws(() => check(broken), { code: 'bad_utf8' })
  }
  check(bytes(0xc4, 1, 0xff))
  check(bytes(0xd4, 5, 0xff))
})

test('lengths beyond the bytes are refused before anything is allocated', () => {
  for (const type of [0xdd, 0xdf, 0xdb, 0xc6, 0xc9])
    assert.throws(() => check(bytes(type, 0xff, 0xff, 0xff, 0xff, 1)), { code: 'bad_value', message: /ends too early/ })
  assert.throws(() => check(bytes(0x92, 0xdd, 0, 0, 0, 2, 1)), { code: 'bad_value' })
  assert.throws(() => check(bytes()), { code: 'bad_value' })
})

test('nesting is allowed to the limit and not beyond, and trailing empty lists do not count', () => {
  check(encodeMsgpack(nested(1, 256)))
  assert.throws(() => check(encodeMsgpack(nested(1, 257))), { code: 'bad_value', message: /deeper than 256/ })
  check(encodeMsgpack(nested([], 256)))
  check(Buffer.concat([Buffer.alloc(256, 0x91), bytes(1)]))
  assert.throws(() => check(Buffer.concat([Buffer.alloc(100_000, 0x91), bytes(1)])), {
    code: 'bad_value',
    message: /deeper/
  })
  // wide is not deep
  check(encodeMsgpack(Array.from({ length: 5000 }, () => [[[1], { a: [2] }]])), 6)
})

test('only strings and whole numbers are keys of maps, at every depth', () => {
  const keys = {
    allowed: [
      bytes(0),
      bytes(0x7f),
      bytes(0xff),
      bytes(0xe0),
      bytes(0xa0),
      bytes(0xa1, 0x61),
      bytes(0xbf, ...Buffer.alloc(31, 0x61)),
      bytes(0xd9, 1, 0x61),
      bytes(0xda, 0, 1, 0x61),
      bytes(0xdb, 0, 0, 0, 1, 0x61),
      bytes(0xcc, 1),
      bytes(0xcd, 0, 1),
      bytes(0xce, 0, 0, 0, 1),
      bytes(0xcf, 0, 0, 0, 0, 0, 0, 0, 1),
      bytes(0xd0, 1),
      bytes(0xd1, 0, 1),
      bytes(0xd2, 0, 0, 0, 1),
      bytes(0xd3, 0, 0, 0, 0, 0, 0, 0, 1)
    ],
    refused: [
      bytes(0x80),
      bytes(0x81, 1, 1),
      bytes(0x90),
      bytes(0x91, 1),
      bytes(0xdc, 0, 1, 1),
      bytes(0xdd, 0, 0, 0, 1, 1),
      bytes(0xde, 0, 0),
      bytes(0xdf, 0, 0, 0, 0),
      bytes(0xc0),
      bytes(0xc2),
      bytes(0xc3),
      bytes(0xc4, 0),
      bytes(0xc5, 0, 0),
      bytes(0xc6, 0, 0, 0, 0),
      bytes(0xc7, 0, 5),
      bytes(0xc8, 0, 0, 5),
      bytes(0xc9, 0, 0, 0, 0, 5),
      bytes(0xca, 0, 0, 0, 0),
      bytes(0xcb, 0, 0, 0, 0, 0, 0, 0, 0),
      bytes(0xd4, 5, 0),
      bytes(0xd5, 5, 0, 0),
      bytes(0xd6, 5, 0, 0, 0, 0),
      bytes(0xd7, 0, ...Buffer.alloc(8)),
      bytes(0xd8, 5, ...Buffer.alloc(16))
    ]
  }
  const around = [
    (/** @type {Buffer} */ key) => [bytes(0x81), key, bytes(1)],
    // the second key, after a value of a map and a list
    (/** @type {Buffer} */ key) => [bytes(0x82, 1, 0x82, 1, 0x91, 0x90, 2, 0x81, 1, 0x90), key, bytes(0x80)],
    (/** @type {Buffer} */ key) => [bytes(0x93, 0xc0, 0xdf, 0, 0, 0, 2, 1, 0x90), key, bytes(0x90, 0x80)],
    (/** @type {Buffer} */ key) => [bytes(0x81, 1, 0x81, 1, 0x81), key, bytes(0x90)]
  ]
  for (const wrap of around) {
    for (const key of keys.allowed) check(Buffer.concat(wrap(key)))
    for (const key of keys.refused)
      assert.throws(
        () => check(Buffer.concat(wrap(key))),
        { code: 'bad_value', message: /neither a string nor a whole number/ },
        key.toString('hex')
      )
    // in other places than keys, they are values
    for (const value of keys.refused) check(Buffer.concat([bytes(0x82, 1), value, bytes(2, 0x91), value]))
  }
})

test('a list nested in keys of keys is refused by its first bytes', () => {
  const nestedKeys = Buffer.concat([
    Buffer.concat(Array(1000).fill(bytes(0x81, 0x91))),
    bytes(0xa1, 0x61),
    Buffer.alloc(1000, 1)
  ])
  assert.throws(() => check(nestedKeys, 10_000), { code: 'bad_value', message: /neither/ })
})

test('the values of a message are counted with their keys, before they are read', () => {
  const list = (/** @type {number} */ count) => encodeMsgpack(Array(count).fill({}))
  const count = (/** @type {Buffer} */ value, /** @type {number} */ max) => checkMsgpack(value, 256, max)
  count(list(1000), 1000)
  assert.throws(() => count(list(1001), 1000), { code: 'bad_value', message: /more than 1000 values/ })
  count(encodeMsgpack({ a: 1, b: [1, 2] }), 6)
  assert.throws(() => count(encodeMsgpack({ a: 1, b: [1, 2] }), 5), { code: 'bad_value' })
  // the announced length of a list suffices
  assert.throws(() => count(Buffer.concat([bytes(0xdd, 0, 0x10, 0, 0), Buffer.alloc(2 ** 20, 0xc1)]), 1000), {
    message: /more than 1000 values/
  })
})

test('extensions pass, with data of any kind', () => {
  for (const length of [0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 65_536])
    check(Buffer.from(encode(new ExtData(5, new Uint8Array(length).fill(0xc1)))))
})

test('a timestamp has one of three lengths: decoders that rely on this would misread another one', () => {
  for (const [type, length] of [[0xc7, 4], [0xc7, 8], [0xc7, 12], [0xd6, 4], [0xd7, 8]]) {
    check(Buffer.concat([type === 0xc7 ? bytes(type, length, 0xff) : bytes(type, 0xff), Buffer.alloc(length)]))
  }
  for (const length of [0, 1, 3, 11, 13, 255])
    assert.throws(() => check(Buffer.concat([bytes(0xc7, length, 0xff), Buffer.alloc(length)])), {
      code: 'bad_value',
      message: /timestamp/
    })
  for (const [type, length] of [
    [0xd4, 1],
    [0xd5, 2],
    [0xd8, 16]
  ])
    assert.throws(() => check(Buffer.concat([bytes(0x91, type, 0xff), Buffer.alloc(length)])), { message: /timestamp/ })
})

test('decoding returns the encoded value, and refuses input other than one value', () => {
  const value = { a: [1, -1.5, 'ü', null, true, { b: Buffer.from([0, 255]) }] }
  assert.deepEqual(decodeMsgpack(encodeMsgpack(value)), value)
  for (const broken of [bytes(), bytes(0xc1), bytes(0x91), bytes(1, 1)])
    assert.throws(() => decodeMsgpack(broken), { name: 'InkcastError', code: 'bad_value' })
})

test('half a surrogate pair becomes U+FFFD, in values and keys of any length, and complete ones stay', () => {
  for (const length of [0, 1, 10, 49, 50, 51, 300]) {
    const rest = 'x'.repeat(length)
    const texts = [
      `\ud800${rest}`,
      `${rest}\udfff`,
      `${rest}\ud83d`,
      `\ude00\ud83d${rest}`,
      `${rest}🖋\ud83d🖋`,
      `Grüße 힣\ud7ff${rest}`
    ]
    const value = {
      list: texts,
      ...Object.fromEntries(texts.map((text, i) => [`${i}${text}`, { [text]: [text] }])),
      bytes: Buffer.from('eda080', 'hex'),
      at: new Date(1)
    }
    const encoded = encodeMsgpack(value)
    const whole = texts.map((text) => text.toWellFormed())
    assert.deepEqual(decode(encoded), {
      list: whole,
      ...Object.fromEntries(whole.map((text, i) => [`${i}${text}`, { [text]: [text] }])),
      bytes: Buffer.from('eda080', 'hex'),
      at: new Date(1)
    })
  }
})

test('an encoder serves many values: none changes another, also one that fails or is encoded within another', () => {
  const random = seededRandom(SEED)
  /** @type {{ value: unknown, encoded: Buffer }[]} */
  const done = []
  for (let i = 0; i < 400; i++) {
    const value = [randomValue(random), 'x'.repeat(i % 50 === 0 ? 100_000 : 0)]
    const inner = randomValue(random)
    const fails = { before: value, get fault () { throw new RangeError('within') } }
    const reenters = { get inner () { return encodeMsgpack(inner) }, after: value }
    if (i % 3 === 0) assert.throws(() => encodeMsgpack(fails), { message: 'within' })
    if (i % 5 === 0) assert.throws(() => encodeMsgpack(nested(value, 600)), /Too deep/)
    for (const one of [value, reenters]) done.push({ value: one, encoded: encodeMsgpack(one) })
  }
  for (const [i, { value, encoded }] of done.entries())
    assert.deepEqual(encoded, Buffer.from(encode(value, { maxDepth: 512 })), `seed ${SEED}, value ${i}`)
})

test('a large value leaves no large buffer behind', async () => {
  encodeMsgpack('small')
  const before = process.memoryUsage().arrayBuffers
  assert.equal(encodeMsgpack(Buffer.alloc(20 * 2 ** 20)).length, 20 * 2 ** 20 + 5)
  assert.throws(() => encodeMsgpack([Buffer.alloc(20 * 2 ** 20), nested(1, 600)]), /Too deep/)
  await waitFor(() => {
    // buffers are freed some time after the collection
    collectGarbage()
    return process.memoryUsage().arrayBuffers < before + 2 ** 20
  })
})
