import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fetchRequests, fetchResponses } from '../../../../src/kafka/kafkajs/fetch-protocol.js'

// kafkajs's own encoder and decoder are the reference
const load = createRequire(import.meta.url)
const Encoder = load('kafkajs/src/protocol/encoder')
const createRequest = load('kafkajs/src/protocol/request')
const stockRequest = load('kafkajs/src/protocol/requests/fetch/v11/request')
const stockResponse = load('kafkajs/src/protocol/requests/fetch/v11/response')

const ASKED = {
  clientId: 'inkcast-ingest',
  topic: 'documents.dünn',
  partitions: [0, 1, 10, 2],
  maxWaitTime: 500,
  minBytes: 1,
  maxBytes: 8_388_608,
  maxBytesPerPartition: 1_048_576,
  isolationLevel: 1,
  rackId: ''
}

test('a request equals that of kafkajs, byte by byte', async () => {
  const offsets = [0, 4711, 2 ** 32 + 5, 2 ** 45]
  const order = [2, 3, 0, 1]
  const { partitions, topic, maxBytesPerPartition, clientId, ...rest } = ASKED
  const asked = order.map((i) => ({
    partition: partitions[i],
    fetchOffset: String(offsets[i]),
    maxBytes: maxBytesPerPartition
  }))
  const request = stockRequest({ replicaId: -1, ...rest, topics: [{ topic, partitions: asked }] })
  const { buffer } = await createRequest({ correlationId: 42, clientId, request })
  assert.equal(fetchRequests(ASKED)(42, offsets, 2).toString('hex'), buffer.toString('hex'))
})

/**
 * @param {{ partition: number, errorCode?: number, high?: string, aborted?: string[][] | null, replica?: number,
 *   records?: Buffer }} sample
 */
function partitionOf ({
  partition,
  errorCode = 0,
  high = '0',
  aborted = null,
  replica = -1,
  records = Buffer.alloc(0)
}) {
  const encoder = new Encoder()
    .writeInt32(partition)
    .writeInt16(errorCode)
    .writeInt64(high)
    .writeInt64('7')
    .writeInt64('3')
  if (aborted === null) encoder.writeInt32(-1)
  else encoder.writeArray(aborted.map(([producer, offset]) => new Encoder().writeInt64(producer).writeInt64(offset)))
  return (encoder.writeInt32(replica).writeInt32(records.length).writeBufferInternal(records), encoder)
}

/** @param {Parameters<typeof partitionOf>[0][]} samples @returns {Buffer} */
const responseOf = (samples) => new Encoder().writeInt32(15).writeInt16(0).writeInt32(0)
  .writeArray([new Encoder().writeString('documents').writeArray(samples.map(partitionOf))]).buffer

const decode = fetchResponses(async (payload, at, end) => /** @type {any} */ (payload.subarray(at + 4, end).toString()))

test('a response is read as kafkajs reads it, except for partitions without content', async () => {
  const samples = [
    { partition: 3, high: '12' },
    { partition: 1, high: '9007199254740993', aborted: [['4294967296', '5'], ['-1', '6']] },
    { partition: 0, errorCode: 6, high: '-1' },
    { partition: 11, high: '44', replica: 2 },
    { partition: 5, high: '4294967296', records: Buffer.from('some records') }
  ]
  const { responses: [{ topicName, partitions }], ...head } = await decode(responseOf(samples))
  assert.deepEqual(head, { throttleTime: 0, clientSideThrottleTime: 15, errorCode: 0, sessionId: 0 })
  assert.equal(topicName, 'documents')
  assert.deepEqual(partitions.map(({ partition }) => partition), [0, 11, 5])
  assert.equal(String(partitions[2].messages), 'some records')
  const empty = samples.filter(({ records }) => records === undefined)
  const { responses: [stock] } = await stockResponse.decode(responseOf(empty))
  for (const own of partitions.slice(0, 2)) {
    const expected = stock.partitions.find(
      (/** @type {{ partition: number }} */ { partition }) => partition === own.partition
    )
    assert.deepEqual({ ...own, messages: [] }, { ...expected, messages: [] })
  }
})

test('aborted transactions of a partition with records are read', async () => {
  const {
    responses: [
      {
        partitions: [own]
      }
    ]
  } = await decode(
    responseOf([
      {
        partition: 1,
        high: '9007199254740993',
        aborted: [
          ['4294967296', '5'],
          ['-1', '6']
        ],
        records: Buffer.from('r')
      }
    ])
  )
  assert.deepEqual(own.abortedTransactions, [
    { producerId: '4294967296', firstOffset: '5' },
    { producerId: '-1', firstOffset: '6' }
  ])
  assert.equal(own.highWatermark, '9007199254740993')
  assert.equal(String(own.messages), 'r')
})
