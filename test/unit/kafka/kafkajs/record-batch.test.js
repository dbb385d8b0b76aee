import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import zlib from 'node:zlib'
import { decoderWith } from '../../../../src/kafka/kafkajs/fetch-patch.js'
import { ResponseBudget, MAX_BYTES, MAX_MS, MAX_RECORDS, readRecordBatches } from '../../../../src/kafka/kafkajs/record-batch.js'
import { leaderEpochOf } from '../../../../src/kafka/record.js'
import { holdTime } from '../../../helpers/held-time.js'
import { manualClock } from '../../../helpers/manual-clock.js'

// kafkajs's own encoder and decoder are the reference
const load = createRequire(import.meta.url)
const Decoder = load('kafkajs/src/protocol/decoder')
const Encoder = load('kafkajs/src/protocol/encoder')
const { RecordBatch } = load('kafkajs/src/protocol/recordBatch/v0')
const Batch = load('kafkajs/src/consumer/batch')
const Record = load('kafkajs/src/protocol/recordBatch/record/v0')
const stock = load('kafkajs/src/protocol/requests/fetch/v4/decodeMessages')

const NOW = 1_700_000_000_000

/**
 * @typedef {{ key?: string | null, value: string | Buffer | null, headers?: Record<string, unknown>, timestampDelta?:
 *   number }} Sample
 */

/**
 * @param {Sample[]} samples
 * @param {{ firstOffset?: number, transactional?: boolean }} [options]
 * @returns {Promise<Buffer>}
 */
async function batchOf (samples, { firstOffset = 0, transactional = false } = {}) {
  const records = samples.map(({ key = null, value, headers = {}, timestampDelta = 0 }, offsetDelta) =>
    Record({ key, value, headers, timestampDelta, offsetDelta })
  )
  const batch = await RecordBatch({
    records,
    firstOffset,
    firstTimestamp: NOW,
    maxTimestamp: NOW + 5,
    lastOffsetDelta: samples.length - 1,
    firstSequence: 0,
    transactional,
    producerId: 4711
  })
  return batch.buffer
}

/** @param {Buffer} bytes of one partition, the only one of its response */
const readAll = (bytes) => readRecordBatches(bytes, new ResponseBudget(manualClock()))

/** @param {Buffer} batch @param {number} attributes */
function withAttributes (batch, attributes) {
  const changed = Buffer.from(batch)
  changed.writeInt16BE(attributes, 21)
  return changed
}

/** @param {Buffer} batch @param {number} codec @param {(records: Buffer) => Buffer} compress */
function compressed (batch, codec, compress) {
  const whole = Buffer.concat([withAttributes(batch, codec).subarray(0, 61), compress(batch.subarray(61))])
  whole.writeInt32BE(whole.length - 12, 8)
  return whole
}

/** @param {any[]} messages reduced to their relevant fields, with headers as text */
const plain = (messages) =>
  messages.map(({ offset, timestamp, key, value, headers, isControlRecord, batchContext, attributes, magicByte }) => ({
    offset, timestamp, key, value, isControlRecord, attributes, magicByte,
    producerId: batchContext.producerId,
    inTransaction: batchContext.inTransaction,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, held]) => [name, [held].flat().map((one) => String(one))])
    )
  }))

/** @type {Sample[]} */
const SAMPLES = [
  { key: 'k', value: 'v', headers: { 'x-guid': 'd1', 'x-event': 'edit' } },
  { key: null, value: null, timestampDelta: 3 },
  {
    key: 'ключ',
    value: Buffer.from([0, 255, 0xfe]),
    headers: { 'x-guid': 'doc-世界', long: 'y'.repeat(300) },
    timestampDelta: -70_000
  },
  { value: 'x'.repeat(70_000), headers: { twice: ['a', 'b', 'c'], empty: '' }, timestampDelta: 2 ** 33 }
]

describe('record batches are read as kafkajs reads them', () => {
  test('plain ones, several in a row', async () => {
    const bytes = Buffer.concat([
      await batchOf(SAMPLES),
      await batchOf([...SAMPLES].reverse(), { firstOffset: 2 ** 40, transactional: true })
    ])
    const whole = new Encoder().writeInt32(bytes.length).writeBuffer(bytes).buffer
    assert.deepEqual(plain(await readAll(bytes)), plain(await stock(new Decoder(whole))))
  })

  test('with the epoch of the leader that wrote each batch, which kafkajs ignores', async () => {
    const epochs = [0, 7, 2 ** 31 - 1, -1]
    const batches = await Promise.all(epochs.map(async (epoch) => {
      const batch = Buffer.from(await batchOf(SAMPLES.slice(0, 1)))
      batch.writeInt32BE(epoch, 12)
      return batch
    }))
    assert.deepEqual((await readAll(Buffer.concat(batches))).map(leaderEpochOf), [
      0,
      7,
      2 ** 31 - 1,
      undefined
    ])
  })

  test('with a truncated last one', async () => {
    const bytes = Buffer.concat([await batchOf(SAMPLES), await batchOf(SAMPLES, { firstOffset: 4 })])
    for (const length of [bytes.length - 1, bytes.length / 2 + 70, bytes.length / 2 + 20]) {
      assert.equal((await readAll(bytes.subarray(0, length))).length, SAMPLES.length)
    }
  })

  for (const kept of [0, 1, 3])
    for (const next of ['cut off', 'whole'])
      test(`with a batch of which compaction has kept ${kept} of 4 records, and a next one that is ${next}`, async () => {
        const first = Buffer.from(await batchOf(SAMPLES.slice(0, kept), { firstOffset: 10 }))
        first.writeInt32BE(3, 23)
        const bytes = Buffer.concat([first, await batchOf(SAMPLES, { firstOffset: 14 })])
        const partitionData = {
          partition: 0,
          highWatermark: '100',
          messages: await readAll(next === 'whole' ? bytes : bytes.subarray(0, bytes.length - 1))
        }
        const batch = new Batch('t', '10', partitionData)
        assert.equal(batch.messages.length, kept + (next === 'whole' ? SAMPLES.length : 0))
        assert.equal(batch.lastOffset(), next === 'whole' ? '17' : '13', 'reading continues after the batch')
      })

  test('with the time of the broker, control records', async () => {
    const batch = withAttributes(await batchOf(SAMPLES), 0x08 | 0x20)
    const messages = await readAll(batch)
    assert.deepEqual(messages.map(({ timestamp }) => timestamp), SAMPLES.map(() => String(NOW + 5)))
    assert.ok(messages.every(({ isControlRecord }) => isControlRecord))
  })

  test('compressed ones', async () => {
    const batch = await batchOf(SAMPLES)
    assert.deepEqual(
      plain(await readAll(compressed(batch, 1, (records) => zlib.gzipSync(records)))),
      plain(await readAll(batch)).map((one) => ({ ...one }))
    )
  })
})

test('compressed batches above the limit are left for the next response, but never all of them', async () => {
  const batch = compressed(await batchOf([{ value: Buffer.alloc(MAX_BYTES - 1000) }]), 1, (records) =>
    zlib.gzipSync(records)
  )
  const batches = [0n, 1n, 2n, 3n].map((firstOffset) => {
    const copy = Buffer.from(batch)
    copy.writeBigInt64BE(firstOffset)
    return copy
  })
  assert.deepEqual((await readAll(Buffer.concat(batches))).map(({ offset }) => offset), ['0', '1'])
  assert.deepEqual((await readAll(Buffer.concat(batches.slice(2)))).map(({ offset }) => offset), ['2', '3'])
  const empty = Buffer.from(batch)
  empty.writeInt32BE(0, 57)
  assert.deepEqual(
    (await readAll(Buffer.concat([empty, empty, batches[2]]))).map(({ offset, isControlRecord }) =>
      [offset, isControlRecord]),
    [['0', true], ['0', true]],
    'batches without a record count as well'
  )
})

describe('headers', () => {
  test('a header without a value counts as absent', async () => {
    const [{ headers }] = await readAll(await withNullHeader())
    assert.deepEqual({ ...headers }, {})
  })

  test('of one name take time in proportion to their number', async () => {
    const values = Array.from({ length: 20_000 }, () => 'v')
    const batch = await batchOf([{ value: '', headers: { twice: values } }])
    const begin = process.cpuUsage()
    const [{ headers = {} }] = await readAll(batch)
    const { user, system } = process.cpuUsage(begin)
    assert.equal(headers.twice?.length, 20_000)
    assert.ok(user + system < 1_000_000, `${user + system} us`)
  })

  test('header names are never special', async () => {
    const [message] = await readAll(
      await batchOf([{ value: '', headers: { constructor: 'a', toString: 'b', ['__proto__']: 'c' } }])
    )
    assert.deepEqual(Object.entries(message.headers ?? {}), [
      ['constructor', 'a'],
      ['toString', 'b'],
      ['__proto__', 'c']
    ])
  })

  test('are Buffers when they are not ASCII, so that invalid UTF-8 is detected', async () => {
    const [{ headers = {} }] = await readAll(
      await batchOf([{ value: '', headers: { a: Buffer.from([0xc3]), b: 'x' } }])
    )
    assert.deepEqual({ ...headers }, { a: Buffer.from([0xc3]), b: Buffer.from('x') })
  })
})

/** kafkajs cannot write one: a record with the header `h` of length -1 (varint 1) */
async function withNullHeader () {
  const batch = await batchOf([{ value: null, headers: { h: '' } }])
  batch[batch.length - 1] = 1
  return batch
}

describe('a batch that cannot be read is replaced by one message', () => {
  /** @param {Buffer} bad @param {RegExp} reason @param {number} records */
  async function between (bad, reason, records) {
    const bytes = Buffer.concat([await batchOf(SAMPLES), bad, await batchOf(SAMPLES, { firstOffset: 4 + records })])
    const messages = await readAll(bytes)
    assert.equal(messages.length, SAMPLES.length * 2 + 1)
    const found = /** @type {import('../../../../src/kafka/kafkajs/record-batch.js').UnreadableBatch} */ (
      messages[SAMPLES.length]
    )
    assert.match(found.unreadable.error.message, reason)
    assert.deepEqual({ ...found.unreadable, error: undefined }, { error: undefined, firstOffset: '4', records })
    assert.equal(found.offset, String(4 + records - 1))
    assert.deepEqual(found.value, bad)
    assert.equal(messages[SAMPLES.length + 1].offset, String(4 + records))
  }

  test('when its compression is corrupt', async () => {
    const batch = await batchOf(SAMPLES, { firstOffset: 4 })
    for (const codec of [1, 2, 3, 4])
      await between(
        compressed(batch, codec, () => Buffer.from('this is not compressed')),
        /gzip|snappy|lz4|zstd/,
        4
      )
  })

  test('when it is a bomb', async () => {
    const bomb = compressed(await batchOf(SAMPLES, { firstOffset: 4 }), 1, () =>
      zlib.gzipSync(Buffer.alloc(65 * 2 ** 20))
    )
    await between(bomb, /gzip: it decompresses to more than 67108864 bytes/, 4)
  })

  test('when a record has a wrong length', async () => {
    const batch = await batchOf([{ value: 'v' }], { firstOffset: 4 })
    for (const [at, value] of [[61, 100], [61, 4], [65, 126], [68, 200]]) {
      const corrupt = Buffer.from(batch)
      corrupt[at] = value
      await between(corrupt, /cut off|not as long/, 1)
    }
  })

  test('when it has more records than fit in memory as objects', async () => {
    const batch = await batchOf([{ value: 'v' }], { firstOffset: 4 })
    batch.writeInt32BE(MAX_RECORDS + 1, 57)
    batch.writeInt32BE(MAX_RECORDS, 23)
    await between(batch, /200001 records/, MAX_RECORDS + 1)
  })
})

test('a batch of more records than a call can have arguments is read', async () => {
  const samples = Array.from({ length: 150_000 }, () => ({ value: null }))
  assert.equal((await readAll(await batchOf(samples))).length, samples.length)
})

test('bytes other than a batch are an error: the start of the next one is unknown', async () => {
  const bytes = Buffer.concat([await batchOf(SAMPLES), Buffer.alloc(100)])
  await assert.rejects(readAll(bytes), /no valid header/)
})

describe('the decoder given to kafkajs', () => {
  test('reads the records and leaves the decoder after them', async () => {
    const batch = await batchOf(SAMPLES)
    const decoder = new Decoder(
      Buffer.concat([
        Buffer.from('ab'),
        new Encoder().writeInt32(batch.length).writeBuffer(batch).buffer,
        Buffer.from('rest')
      ])
    )
    decoder.offset = 2
    assert.equal((await decoderWith(stock)(decoder)).length, SAMPLES.length)
    assert.equal(decoder.readAll().toString(), 'rest')
  })

  test('reads compressed batches of a response for a limited time, one at least, and all others', async (t) => {
    const time = holdTime(t)
    const slow = compressed(await batchOf(SAMPLES), 1, (records) => zlib.gzipSync(records))
    const bomb = compressed(await batchOf(SAMPLES), 1, () => zlib.gzipSync(Buffer.alloc(65 * 2 ** 20)))
    const quick = await batchOf(SAMPLES)
    const { length } = SAMPLES
    for (const [name, first, read] of /** @type {const} */ ([['slow', slow, length], ['unreadable', bomb, 1]])) {
      const decode = decoderWith(stock, time.clock)
      const bytes = Buffer.concat([first, slow, quick])
      const decoder = new Decoder(Buffer.concat(
        [bytes, slow, Buffer.concat([quick, slow]), quick].map((records) =>
          new Encoder().writeInt32(records.length).writeBuffer(records).buffer)
      ))
      // the first decompression takes all of the time
      const reading = decode(decoder)
      time.pass(MAX_MS)
      assert.equal((await reading).length, read, name)
      assert.equal((await decode(decoder)).length, 0)
      assert.equal((await decode(decoder)).length, length)
      assert.equal((await decode(decoder)).length, length)
      assert.equal(decoder.canReadBytes(1), false, 'it stands behind each partition')
      const next = new Decoder(new Encoder().writeInt32(slow.length).writeBuffer(slow).buffer)
      assert.equal((await decode(next)).length, length, 'the next response has time of its own')
    }
  })

  test('leaves everything else to kafkajs', async () => {
    /** @type {unknown[]} */
    const asked = []
    const decode = decoderWith(async (decoder) => { asked.push(decoder); return [] })
    const older = Buffer.alloc(60) // magic 0
    for (const bytes of [
      new Encoder().writeInt32(0).buffer,
      new Encoder().writeInt32(1000).writeBuffer(older).buffer,
      new Encoder().writeInt32(older.length).writeBuffer(older).buffer
    ]) {
      const decoder = new Decoder(bytes)
      await decode(decoder)
      assert.equal(asked.pop(), decoder)
      assert.equal(decoder.offset, 0)
    }
  })
})
