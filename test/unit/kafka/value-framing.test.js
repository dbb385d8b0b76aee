import assert from 'node:assert/strict'
import { test } from 'node:test'
import { framed, unframed } from '../../../src/kafka/value-framing.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { publicationFromMessage } from '../../../src/kafka/record.js'

const JSON_TYPE = 'application/json'
const HEAD = Buffer.from([0, 0, 0, 1, 7])

test('what stands behind the framing of a schema registry is the value, byte by byte, whatever JSON it is', () => {
  for (const text of ['{"a":1}', ' [1, 2]', '"ä"', '-1', '0', 'true', 'false', 'null', '\n{}'])
    assert.equal(String(unframed({ value: Buffer.concat([HEAD, Buffer.from(text)]), contentType: JSON_TYPE })), text)
})

test('a value without the framing, or with Avro or Protobuf behind it, is refused with the reason', () => {
  for (const value of [Buffer.from('{"a":1}'), Buffer.from([1, 0, 0, 0, 1, 0x7b]), HEAD, Buffer.from([0]), Buffer.from('\ufeff{}')]) {
    assert.throws(() => unframed({ value, contentType: JSON_TYPE }), {
      code: 'bad_value', message: /does not begin with the framing of a schema registry .*KAFKA_VALUE_FRAMING=confluent-json expects/
    })
  }
  // Protobuf has the index of its message there, Avro a length or a number
  for (const behind of [[0, 8, 1], [2, 8], [0x06, 0x61, 0x62, 0x63]]) {
    assert.throws(() => unframed({ value: Buffer.concat([HEAD, Buffer.from(behind)]), contentType: JSON_TYPE }), {
      code: 'bad_value', message: /Avro and Protobuf are not supported/
    })
  }
})

test('orders have no value, and msgpack has no schema: both are as they are', () => {
  /** @type {Parameters<typeof framed>[0][]} */
  const values = [
    { value: Buffer.alloc(0), contentType: JSON_TYPE }, { value: Buffer.from([0x81, 0xa1, 0x61, 1]), contentType: 'application/msgpack' }
  ]
  for (const one of values) {
    assert.equal(unframed(one), one.value)
    assert.equal(framed(one), one.value)
  }
})

test('what the api writes is read as it was, and without the setting values are never looked at', () => {
  /** @type {Parameters<typeof framed>[0]} */
  const one = { value: Buffer.from('{"a":1}'), contentType: JSON_TYPE }
  assert.deepEqual(framed(one), Buffer.from('\0\0\0\0\0{"a":1}', 'latin1'))
  assert.deepEqual(unframed({ ...one, value: framed(one) }), one.value)
  const message = /** @type {any} */ ({ value: framed(one), timestamp: '0', headers: { 'x-operator': 'broadcast', 'x-guid': 'a' } })
  assert.deepEqual(publicationFromMessage(message, systemRandom).value, framed(one))
  assert.deepEqual(publicationFromMessage(message, systemRandom, 'confluent-json').value, one.value)
})
