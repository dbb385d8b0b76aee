import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { recordWith } from '../../../../src/kafka/kafkajs/produce-patch.js'
import { encodeRecord } from '../../../../src/kafka/kafkajs/record-encoder.js'
import { seededRandom } from '../../../helpers/random.js'

// kafkajs's own encoder is the reference
const stock = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/record/v0')

/** Lengths around which a length takes another byte. */
const LENGTHS = [0, 1, 20, 21, 22, 31, 32, 63, 64, 65, 4095, 8191, 8192, 20_000]

test('5,000 random records have the bytes that kafkajs gives them', () => {
  const random = seededRandom(20)
  const pick = (/** @type {readonly any[]} */ list) => list[Math.floor(random() * list.length)]
  const text = () => pick(['a', 'ü', '\u20ac', '\u{1f600}']).repeat(pick(LENGTHS.slice(0, -3)))
  const bytes = () => random() < 0.5 ? text() : Buffer.alloc(pick(LENGTHS), pick([0, 255]))
  const few = () => pick(LENGTHS.slice(0, 9))
  for (let i = 0; i < 5000; i++) {
    const count = pick([0, 1, 6, 70])
    // the number of headers is apart from their size, so that records are small
    const header = count === 70 ? () => Buffer.alloc(few(), pick([0, 255])) : bytes
    const record = {
      offsetDelta: pick([0, 1, 63, 64, 499, 100_000]),
      timestampDelta: pick([0, 1, 64, 10_000, 0x3fff_ffff]),
      key: pick([null, undefined, bytes()]),
      value: pick([null, bytes()]),
      headers: Object.fromEntries(Array.from({ length: count }, (_, j) => [`${text().slice(0, 40)}${j}`, header()]))
    }
    assert.ok(encodeRecord(record)?.equals(stock(record).buffer), JSON.stringify(record).slice(0, 500))
  }
})

test('what it does not know is left to kafkajs', () => {
  const encode = recordWith(stock)
  for (const record of [
    { value: 'v', headers: { several: ['a', 'b'] } },
    { value: 'v', timestampDelta: 2 ** 40 },
    { value: 'v', timestampDelta: -5 }
  ]) {
    assert.equal(encodeRecord(/** @type {any} */ (record)), undefined)
    assert.deepEqual(encode(/** @type {any} */ (record)).buffer, stock(record).buffer)
  }
})

test('a record is not changed by those encoded after it', () => {
  const encode = recordWith(stock)
  const first = encode({ key: 'a', value: 'first' })
  const before = Buffer.from(first.buffer)
  encode({ key: 'b', value: 'second' })
  assert.deepEqual(first.buffer, before)
})
