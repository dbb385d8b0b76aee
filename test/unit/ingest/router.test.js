import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { route, sourceOf } from '../../../src/ingest/router.js'

const options = { source: sourceOf({ topic: 'documents.downlink', topicId: '', partition: 3 }), maxBytes: 100, random: systemRandom }

/** @param {number} offset @param {Record<string, string>} headers @param {string | Buffer | null} [value] */
const message = (offset, headers, value = '{}') =>
  /** @type {import('../../../src/kafka/contract.js').KafkaRecord} */ ({
    key: null,
    value: value === null ? null : Buffer.from(value),
    timestamp: '1700000000000',
    offset: String(offset),
    attributes: 0,
    headers
  })

/** @param {number} sequence @param {number} [epoch] */
const at = (sequence, epoch) => ({ source: 'documents.downlink/3', sequence, epoch })

test('records are sorted into lanes, in order, with their origin', () => {
  const { lanes, refused } = route([
    message(7, { 'x-operator': 'broadcast', 'x-guid': 'a' }),
    message(8, { 'x-operator': 'user', 'x-uid': 'u' }),
    message(9, { 'x-operator': 'broadcast', 'x-guid': 'b' }),
    message(10, { 'x-operator': 'broadcast', 'x-guid': 'a' }),
    message(11, { 'x-operator': 'kick', 'x-uid': 'u' }, null)
  ], options)
  assert.deepEqual(refused, [])
  assert.deepEqual(
    [...lanes].map(([lane, routed]) => [lane, routed.map(({ index, entry }) => [index, entry.origin])]),
    [
      [
        'd:a',
        [
          [0, at(7)],
          [3, at(10)]
        ]
      ],
      [
        'u:u',
        [
          [1, at(8)],
          [4, at(11)]
        ]
      ],
      ['d:b', [[2, at(9)]]]
    ]
  )
})

test('the epoch of the leader that wrote a record goes with its offset', () => {
  const wrote = (/** @type {number} */ leaderEpoch) =>
    Object.assign(message(7, { 'x-operator': 'broadcast', 'x-guid': 'a' }), { batchContext: { leaderEpoch } })
  const { lanes } = route([wrote(0), wrote(12), wrote(-1)], options)
  assert.deepEqual(lanes.get('d:a')?.map(({ entry }) => entry.origin), [at(7, 0), at(7, 12), at(7)])
})

test('bad records are refused with their reason and do not affect others', () => {
  const { lanes, refused } = route([
    message(0, {}),
    message(1, { 'x-operator': 'broadcast' }),
    message(2, { 'x-operator': 'broadcast', 'x-guid': 'a' }),
    message(3, { 'x-operator': 'broadcast', 'x-guid': 'a' }, null),
    message(4, { 'x-operator': 'broadcast', 'x-guid': 'a' }, Buffer.from([0x22, 0xff, 0x22])),
    message(5, { 'x-operator': 'broadcast', 'x-guid': 'a' }, `"${'x'.repeat(100)}"`),
    message(6, { 'x-operator': 'broadcast', 'x-guid': 'a', 'x-event': 'doc:join' }),
    message(7, { 'x-operator': 'revoke', 'x-guid': 'a', 'x-uid': 'u' }, null)
  ], options)
  assert.deepEqual(
    refused.map(({ index, error }) => [index, error.code]),
    [
      [0, 'unknown_operator'],
      [1, 'missing_target'],
      [3, 'bad_value'],
      [4, 'bad_utf8'],
      [5, 'value_too_large'],
      [6, 'reserved_event']
    ]
  )
  assert.deepEqual([...lanes.keys()], ['d:a'])
  assert.deepEqual(
    lanes.get('d:a')?.map(({ index }) => index),
    [2, 7],
    'whose access is revoked gets no later record'
  )
})

test('a batch that could not be read is refused as one', () => {
  const unreadable = Object.assign(message(9, {}), {
    unreadable: { error: new Error('snappy: a block is corrupt'), firstOffset: '5', records: 5 }
  })
  const { refused } = route([unreadable], options)
  assert.equal(refused[0].error.code, 'bad_value')
  assert.match(String(refused[0].error.cause), /snappy/)
})

test('canaries are separated', () => {
  const { lanes, refused, canaries } = route(
    [
      message(0, { 'x-operator': 'broadcast', 'x-guid': 'a' }),
      message(1, { 'x-operator': 'canary', 'x-canary': 'me 3 1' }, null),
      message(2, { 'x-operator': 'canary' }, null)
    ],
    options
  )
  assert.deepEqual([lanes.size, refused, canaries], [1, [], [{ index: 1, text: 'me 3 1' }, { index: 2, text: '' }]])
})
