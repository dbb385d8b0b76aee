import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { BATCH, FAILING, LEASE, PARTS } from '../../src/services/uplink/stream/contract.js'
import { partOf } from '../../src/services/uplink/stream/redis-stream.js'
import { waitFor } from '../helpers/wait.js'

/**
 * The contract of every stream of the uplink.
 *
 * @typedef {import('../../src/services/uplink/stream/contract.js').UplinkStream} UplinkStream
 *
 * @param {string} name
 * @param {(t: import('node:test').TestContext, options: { groups: string[], limits?: { records: number,
 *   bytes: number } }) => Promise<UplinkStream>} open started, and stopped after the test
 */
export function streamContract (name, open) {
  const fresh = () => `doc-${randomBytes(6).toString('hex')}`
  /** @param {string} guid @param {string} text @returns {import('../../src/log/publish/uplink.js').UplinkRecord} */
  const message = (guid, text, more = {}) => ({
    operator: 'message', uid: 'ada', sid: 'AA1', guid, event: 'edit', traceId: 'trace', timestamp: 1_700_000_000_000,
    contentType: 'application/json', value: Buffer.from(JSON.stringify(text)), ...more
  })
  const one = { group: 'one', holder: 'first process' }
  /** @param {import('../../src/services/uplink/stream/contract.js').Batch | null} batch */
  const texts = (batch) => batch && batch.entries.map(({ record }) => JSON.parse(record.value.toString()))

  describe(`contract of the uplink's stream: ${name}`, () => {
    test('records of a document are read in their order, with all their fields', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const first = message(guid, 'ü', { queue: { id: 'a queue of a tab', number: 1 } })
      assert.deepEqual(await stream.append(first), { duplicate: false })
      const bytes = Buffer.from([0x81, 0xa1, 0xff])
      await stream.append(message(guid, 'b', { contentType: 'application/msgpack', value: bytes, asSent: bytes }))
      const batch = await stream.take(partOf(first), one)
      assert.deepEqual(batch?.entries[0].record, first)
      assert.deepEqual(batch?.entries[1].record.value, bytes)
      assert.equal(batch?.entries.length, 2)
      assert.ok(batch.entries.every(({ id }) => typeof id === 'string'))
      assert.notEqual(batch.entries[0].id, batch.entries[1].id)
      assert.equal(batch.entries[0].source, batch.entries[1].source)
      assert.ok(batch.entries[0].sequence < batch.entries[1].sequence)
      assert.ok(Number.isSafeInteger(batch.entries[1].sequence))
    })

    test('a batch stays the same until it is done', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const part = partOf(message(guid, ''))
      await stream.append(message(guid, 'a'))
      const taken = await stream.take(part, one)
      await stream.append(message(guid, 'b'))
      const again = await stream.take(part, one)
      assert.deepEqual(again, taken)
      assert.equal(await stream.done(part, one, String(taken?.upTo)), true)
      assert.deepEqual(texts(await stream.take(part, one)), ['b'])
    })

    test(`a batch has at most ${BATCH.records} records and ${BATCH.bytes} bytes, or one record`, async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const part = partOf(message(guid, ''))
      for (let i = 0; i < BATCH.records + 5; i++) await stream.append(message(guid, String(i)))
      for (const text of ['x'.repeat(BATCH.bytes + 1), 'y'.repeat(BATCH.bytes - 1000), 'z'.repeat(2000)])
        await stream.append(message(guid, text))
      const sizes = []
      for (;;) {
        const batch = await stream.take(part, one)
        if (batch === null || batch.entries.length === 0) break
        sizes.push(batch.entries.length)
        await stream.done(part, one, batch.upTo)
      }
      assert.deepEqual(sizes, [BATCH.records, 5, 1, 1, 1])
      assert.deepEqual(await stream.state(), { records: 0, bytes: 0 })
    })

    test('only one process reads a part, until its lease ends or is given back', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const part = partOf(message(guid, ''))
      const two = { group: 'one', holder: 'second process' }
      await stream.append(message(guid, 'a'))
      const batch = await stream.take(part, one)
      assert.equal(await stream.take(part, two), null)
      assert.equal(await stream.done(part, two, String(batch?.upTo)), false)
      await stream.release(part, two)
      assert.equal(await stream.take(part, two), null)
      await stream.release(part, one)
      assert.deepEqual(await stream.take(part, two), batch)
      const again = await waitFor(() => stream.take(part, one), { timeout: 2 * LEASE, message: 'the end of the lease' })
      assert.deepEqual(texts(again), ['a'])
      assert.equal(await stream.done(part, two, String(batch?.upTo)), false)
      assert.equal(await stream.done(part, one, String(batch?.upTo)), true)
    })

    test('each group reads each record, and a record is kept until all have', async (t) => {
      const stream = await open(t, { groups: ['one', 'two'] })
      const guid = fresh()
      const part = partOf(message(guid, ''))
      const other = { group: 'two', holder: 'first process' }
      for (const text of ['a', 'b']) await stream.append(message(guid, text))
      const batch = await stream.take(part, one)
      await stream.done(part, one, String(batch?.upTo))
      assert.equal((await stream.state()).records, 2)
      await stream.append(message(guid, 'c'))
      const all = await stream.take(part, other)
      assert.deepEqual(texts(all), ['a', 'b', 'c'])
      assert.deepEqual(texts(await stream.take(part, one)), ['c'])
      await stream.done(part, other, String(all?.upTo))
      assert.equal((await stream.state()).records, 1)
    })

    test('a queued edit is appended once', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const sent = []
      for (const number of [1, 2, 2, 1, 4, 3]) {
        const edit = message(guid, String(number), { queue: { id: 'a queue of a tab', number } })
        sent.push((await stream.append(edit)).duplicate)
      }
      assert.deepEqual(sent, [false, false, true, true, false, true])
      assert.deepEqual(texts(await stream.take(partOf(message(guid, '')), one)), ['1', '2', '4'])
    })

    test('a full part refuses records, by number and by size, until they are read', async (t) => {
      for (const limits of [{ records: 3, bytes: 1e6 }, { records: 1000, bytes: 5000 }]) {
        const stream = await open(t, { groups: ['one'], limits })
        const guid = fresh()
        const part = partOf(message(guid, ''))
        const text = 'x'.repeat(1500)
        await assert.rejects(async () => {
          for (let i = 0; i < 5; i++) await stream.append(message(guid, text))
        }, { code: 'unavailable', retryable: true, message: /too many messages wait/ })
        assert.ok((await stream.state()).bytes <= limits.bytes)
        const batch = await stream.take(part, one)
        await stream.done(part, one, String(batch?.upTo))
        await stream.append(message(guid, text))
      }
    })

    test('records are refused while a reader says that it fails, and for a time after', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      const part = partOf(message(guid, ''))
      await stream.append(message(guid, 'a'))
      await stream.take(part, one, { failing: true })
      await assert.rejects(stream.append(message(guid, 'b')), { code: 'unavailable', message: /has not accepted/ })
      await waitFor(() => stream.append(message(guid, 'b')), { timeout: 2 * FAILING })
    })

    test('each watcher learns of new records, until it ends, also if another one has ended', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      /** @type {[number[], number[]]} */
      const seen = [[], []]
      const [endFirst, endSecond] = seen.map((parts) => stream.watch((part) => { parts.push(part) }))
      const guid = fresh()
      const appendUntil = (/** @type {() => boolean} */ learned) => waitFor(async () => {
        await stream.append(message(guid, 'a'))
        return learned()
      })
      await appendUntil(() => seen.every(({ length }) => length > 0))
      assert.deepEqual(new Set(seen.flat()), new Set([partOf(message(guid, ''))]))
      endFirst()
      for (const parts of seen) parts.length = 0
      await appendUntil(() => seen[1].length > 0)
      assert.deepEqual(seen[0], [])
      endSecond()
    })

    test('records of many documents are spread over the parts', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      for (let i = 0; i < 200; i++) await stream.append(message(fresh(), 'a'))
      let [records, used] = [0, 0]
      for (let part = 0; part < PARTS; part++) {
        const { length } = (await stream.take(part, one))?.entries ?? []
        records += length
        if (length > 0) used++
      }
      assert.deepEqual([records, used], [200, PARTS])
    })

    test('a refused record is kept for people', async (t) => {
      const stream = await open(t, { groups: ['one'] })
      const guid = fresh()
      await stream.append(message(guid, 'a'))
      const part = partOf(message(guid, ''))
      const batch = await stream.take(part, one)
      await stream.keepRefused(part, /** @type {any} */ (batch).entries[0], 'HTTP 400')
    })
  })
}
