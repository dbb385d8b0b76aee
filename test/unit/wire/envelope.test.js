import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { decodeEnvelope, encodeEnvelope } from '../../../src/wire/envelope.js'
import { publicationWith } from '../../helpers/publication.js'

const EVERYTHING = publicationWith({
  operator: 'revoke',
  guid: 'minutes/ü🖋',
  uid: 'ada',
  sid: 's1',
  event: 'änderung',
  except: ['tab-1', 'ü'],
  ephemeral: true,
  receipt: true,
  traceId: 'trace "1"',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  source: 'editor',
  from: 's2',
  ttl: 60,
  contentType: 'application/msgpack',
  value: Buffer.from([0, 0xff, 0xc1])
})

test('a publication is the same after encoding and decoding', () => {
  for (const publication of [
    publicationWith(),
    EVERYTHING,
    publicationWith({ value: Buffer.alloc(0) }),
    publicationWith({ operator: 'everyone', guid: undefined })
  ]) {
    const decoded = decodeEnvelope(encodeEnvelope(publication, 99, systemRandom))
    assert.equal(decoded.ingestedAt, 99)
    assert.deepEqual(withoutUndefined(decoded.publication), withoutUndefined(publication))
  }
})

test('the test above covers every field of a publication', () => {
  const decoded = decodeEnvelope(encodeEnvelope(EVERYTHING, 1, systemRandom)).publication
  assert.deepEqual(Object.entries(decoded).filter(([, value]) => value === undefined), [])
})

test('defaults take no space', () => {
  const { value } = publicationWith()
  const envelope = encodeEnvelope(publicationWith(), 1_700_000_000_000, systemRandom)
  assert.ok(envelope.length - value.length < 100, `${envelope.length - value.length} bytes in addition to the value`)
})

test('a value that is a slice of a larger buffer is copied, and a decoded one is not', () => {
  const whole = Buffer.from('before{"a":1}after')
  const envelope = encodeEnvelope(publicationWith({ value: whole.subarray(6, 13) }), 1, systemRandom)
  whole.fill(0)
  const { value } = decodeEnvelope(envelope).publication
  assert.equal(value.toString(), '{"a":1}')
  assert.equal(value.buffer, envelope.buffer)
})

test('input other than an envelope of this version is an error', () => {
  const envelope = encodeEnvelope(publicationWith(), 1, systemRandom)
  const headEnd = 4 + envelope.readUInt32BE(0)
  for (const length of [0, 1, 3, 4, 10, headEnd - 1])
    assert.throws(() => decodeEnvelope(envelope.subarray(0, length)), Error, String(length))
  assert.throws(() => decodeEnvelope(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7b, 0x7d])), /head is longer/)
  assert.throws(
    () => decodeEnvelope(Buffer.from(envelope.toString('latin1').replace('"v":1', '"v":3'), 'latin1')),
    /version 3, this worker reads 1/
  )
})

/** @param {object} object */
const withoutUndefined = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
