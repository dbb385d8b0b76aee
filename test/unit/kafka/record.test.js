import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { publicationFromMessage } from '../../../src/kafka/record.js'
import { isId } from '../../../src/wire/publication.js'

/** @param {Parameters<typeof publicationFromMessage>[0]} message */
const read = (message) => publicationFromMessage(message, systemRandom)

/** @param {object} message */
const messageOf = (message) =>
  /** @type {import('../../../src/kafka/contract.js').KafkaRecord} */ ({
    key: null,
    value: Buffer.from('{}'),
    timestamp: '1700000000000',
    offset: '0',
    attributes: 0,
    headers: {},
    ...message
  })

test('headers decide everything; they may be text or bytes', () => {
  const publication = read(
    messageOf({
      value: Buffer.from('{"a":1}'),
      headers: {
        'x-operator': 'broadcast',
        'x-guid': Buffer.from('doc-世界'),
        'x-event': 'edit',
        'x-except': 'a, b',
        'x-ephemeral': 'true',
        'x-trace-id': 't1',
        'x-timestamp': '1700000000123',
        other: 'ignored'
      }
    })
  )
  assert.deepEqual(publication, {
    operator: 'broadcast',
    guid: 'doc-世界',
    uid: undefined,
    sid: undefined,
    event: 'edit',
    except: ['a', 'b'],
    ephemeral: true,
    receipt: false,
    traceId: 't1',
    traceparent: undefined,
    idempotencyKey: undefined,
    key: undefined,
    ttl: undefined,
    timestamp: 1_700_000_000_123,
    source: undefined,
    contentType: 'application/json',
    value: Buffer.from('{"a":1}')
  })
})

test('without x-timestamp the record\'s own time is used', () => {
  assert.equal(read(messageOf({ headers: { 'x-operator': 'everyone' } })).timestamp, 1_700_000_000_000)
})

test('the last one of repeated headers counts', () => {
  assert.equal(
    read(messageOf({ headers: { 'x-operator': 'broadcast', 'x-guid': ['a', Buffer.from('b')] } }))
      .guid,
    'b'
  )
})

test('a header that is not UTF-8 is refused with its name', () => {
  const message = messageOf({ headers: { 'x-operator': 'broadcast', 'x-guid': Buffer.from([0x64, 0xff]) } })
  assert.throws(() => read(message), { code: 'bad_header', message: 'x-guid is not valid UTF-8' })
})

test('a header that the operator does not read may have any bytes', () => {
  const bytes = Buffer.from([0xff])
  const headers = { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-ttl': bytes, 'x-queue': bytes, other: bytes }
  assert.equal(read(messageOf({ headers })).guid, 'd')
})

test('properties of Object.prototype do not count as headers', () => {
  assert.equal(read(messageOf({ headers: { 'x-operator': 'everyone' } })).event, 'message')
})

test('a record without headers has an unknown operator', () => {
  assert.throws(() => read(messageOf({ headers: undefined })), { code: 'unknown_operator' })
})

test('the value is a copy; a tombstone\'s is empty', () => {
  const answer = Buffer.alloc(1 << 20, 'x')
  const { value } = read(
    messageOf({ headers: { 'x-operator': 'everyone' }, value: answer.subarray(10, 13) })
  )
  answer.fill('y')
  assert.equal(value.toString(), 'xxx')
  assert.ok(value.buffer.byteLength < 1 << 20)
  assert.equal(
    read(messageOf({ headers: { 'x-operator': 'kick', 'x-uid': 'u' }, value: null })).value.length,
    0
  )
})

test('a header that only observers read never decides over a record: a wrong one counts as absent', () => {
  const names = ['traceparent', 'x-trace-id', 'x-timestamp']
  const wrong = [
    Buffer.from([0xff, 0xfe]), Buffer.from([0]), '', ' ', 'nonsense', '-1', '1e3', '0', '1690000000', 'a\nb', '\u0000', 'x'.repeat(257),
    '9'.repeat(16), '00-zz-zz-01', Buffer.alloc(0), ['1', 'nonsense\n'], null
  ]
  let cases = 0
  for (const name of names) {
    for (const value of wrong) {
      const headers = { 'x-operator': 'broadcast', 'x-guid': 'd', [name]: value }
      const { guid, timestamp, traceId, traceparent } = read(messageOf({ headers }))
      assert.deepEqual([guid, timestamp, traceparent], ['d', 1_700_000_000_000, undefined], `${name}: ${value}`)
      assert.ok(isId(traceId) && (name !== 'x-trace-id' || traceId.length === 32 || traceId === value), traceId)
      cases++
    }
  }
  assert.equal(cases, 51)
})
