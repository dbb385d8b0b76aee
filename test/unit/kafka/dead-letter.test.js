import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deadLetterRecord } from '../../../src/kafka/dead-letter.js'

/** @param {object} [more] */
const letter = (more) => ({
  topic: 'documents.downlink',
  partition: 2,
  reason: 'bad_value',
  message: /** @type {import('../../../src/kafka/contract.js').KafkaRecord} */ ({
    key: Buffer.from('k'),
    value: Buffer.from('{'),
    timestamp: '1',
    offset: '41',
    attributes: 0,
    headers: { 'x-operator': 'broadcast', 'x-guid': Buffer.from('d') },
    ...more
  })
})

test('a dead letter has the record, its reason and its origin', () => {
  assert.deepEqual(deadLetterRecord(letter(), false), {
    key: Buffer.from('k'),
    value: Buffer.from('{'),
    headers: {
      'x-operator': 'broadcast',
      'x-guid': Buffer.from('d'),
      'x-reason': 'bad_value',
      'x-topic': 'documents.downlink',
      'x-partition': '2',
      'x-offset': '41'
    }
  })
})

test('a dead letter has a sentence where there is one, and never that of the record', () => {
  const { headers } = deadLetterRecord({ ...letter(), detail: 'x-keep must be true or false' }, true)
  assert.equal(headers['x-message'], 'x-keep must be true or false')
  assert.equal(deadLetterRecord(letter({ headers: { 'x-message': 'mine' } }), false).headers['x-message'], undefined)
  assert.equal(String(deadLetterRecord({ ...letter(), detail: 'a'.repeat(5000) }, true).headers['x-message']).length, 1000)
})

test('headers of the record for reason and origin are overwritten', () => {
  const { headers } = deadLetterRecord(letter({ headers: { 'x-reason': 'mine', 'x-offset': ['1', '2'] } }), false)
  assert.deepEqual(headers, {
    'x-reason': 'bad_value',
    'x-topic': 'documents.downlink',
    'x-partition': '2',
    'x-offset': '41'
  })
})

test('a truncated one is marked, and keeps no part that may be large', () => {
  assert.deepEqual(deadLetterRecord(letter({ headers: { large: 'x'.repeat(1e6) } }), true), {
    key: null,
    value: null,
    headers: {
      'x-reason': 'bad_value',
      'x-topic': 'documents.downlink',
      'x-partition': '2',
      'x-offset': '41',
      'x-truncated': 'true'
    }
  })
})

test('repeated headers are kept; values that cannot be written are left out', () => {
  const { headers } = deadLetterRecord(
    letter({ headers: { twice: ['a', Buffer.from('b')], odd: [() => {}, 'c'], none: undefined } }),
    false
  )
  assert.deepEqual([headers.twice, headers.odd, headers.none], [['a', Buffer.from('b')], 'c', undefined])
})

test('a batch that could not be read has its first record and the number of records', () => {
  const { headers } = deadLetterRecord(
    letter({ unreadable: { error: new Error(), firstOffset: '37', records: 5 } }),
    false
  )
  assert.deepEqual([headers['x-offset'], headers['x-batch-records']], ['37', '5'])
})
