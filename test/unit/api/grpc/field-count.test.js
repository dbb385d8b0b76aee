import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkFields, MAX_FIELDS } from '../../../../src/services/api/grpc/field-count.js'
import { METHODS } from '../../../helpers/grpc-api.js'
import { seededRandom } from '../../../helpers/random.js'

const LIST = { field: 1, max: 1000 }
const { requestSerialize, requestDeserialize } = METHODS.PublishBatch

/** With every field. @param {number} i */
const full = (i) => ({
  operator: 'broadcast', guid: `guid-${i}`, uid: 'u', sid: 's', event: 'e', value: Buffer.from('1'.repeat(i % 300)),
  contentType: 'application/json', except: ['a', 'b'], ephemeral: true, receipt: true, traceId: 't', traceparent: 'p',
  timestamp: 2 ** 50 + i, idempotencyKey: 'k', key: 'k', ttl: i, keep: true
})

test('as many publications as a batch may have, with all their fields, are taken', () => {
  for (const count of [0, 1, 2, 127, 128, 999, 1000])
    checkFields(requestSerialize({ publications: Array.from({ length: count }, (_, i) => full(i)) }), LIST)
})

test('one publication too many is refused, however little is in them', () => {
  for (const count of [1001, 1002, 400_000])
    assert.throws(() => checkFields(Buffer.from('0a00'.repeat(count), 'hex'), LIST), { code: 'bad_request' })
})

test('fields are counted where they are cheap to send and dear to decode', () => {
  const many = MAX_FIELDS + 1
  const empties = Buffer.from('4200'.repeat(many), 'hex') // ids of `except`
  const length = Buffer.from([0x0a, ...varint(empties.length)])
  const numbers = Buffer.from('4801'.repeat(many), 'hex')
  for (const bytes of [empties, Buffer.concat([length, empties]), numbers, Buffer.from('0a00'.repeat(many), 'hex')])
    assert.throws(() => checkFields(bytes, bytes.equals(empties) ? undefined : LIST), { code: 'bad_request' })
})

test('what is cut off or changed is refused or decoded, and takes no time', () => {
  const random = seededRandom(157)
  const whole = requestSerialize({ publications: [full(1), full(2)] })
  let refused = 0
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(whole.subarray(0, i < whole.length ? i : whole.length))
    for (let n = 0; i >= whole.length && n < 3; n++)
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    try {
      checkFields(bytes, LIST)
    } catch (error) {
      assert.equal(/** @type {any} */ (error).code, 'bad_request')
      refused++
    }
  }
  assert.ok(refused > 1000)
  // groups are no part of the proto, and a decoder follows them as deep as they go
  assert.throws(() => checkFields(Buffer.alloc(1000, 0x0b), LIST), { code: 'bad_request' })
  assert.deepEqual(requestDeserialize(whole).publications.length, 2)
})

/** @param {number} value */
function varint (value) {
  const bytes = []
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128)
  return [...bytes, value]
}
