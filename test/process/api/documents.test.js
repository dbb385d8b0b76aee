import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'
import { startApi } from '../../helpers/api.js'

/**
 * A log as in the contract of the bus, with a size.
 * @param {object} [options]
 * @param {number} [options.first] offset of the oldest record kept
 * @param {number} [options.last]
 * @param {(offset: number) => Buffer} [options.valueAt] value of the JSON records
 */
function logWith ({ first = 1, last = 10, valueAt = (offset) => Buffer.from(String(offset)) } = {}) {
  const log = {
    first, last, reads: 0, largestRead: 0, onRead: () => {},
    cut: async () => null,
    /** @param {string[]} guids */
    positions: async (guids) => guids.map((guid) => guid === 'minutes' ? { epoch: 'e', offset: log.last } : null),
    /** @type {import('../../../src/log/bus/contract.js').Bus['history']} */
    async history (_guid, since, limit) {
      log.onRead()
      log.reads++
      log.largestRead = Math.max(log.largestRead, limit)
      const position = { epoch: 'e', offset: log.last }
      if (since.epoch !== 'e' || since.offset > log.last) return { position, records: [], gap: 'epoch' }
      if (since.offset + 1 < log.first) return { position, records: [], gap: 'trimmed' }
      const count = Math.min(limit, log.last - since.offset)
      return {
        position,
        gap: null,
        records: Array.from({ length: count }, (_, i) => since.offset + 1 + i).map((offset) => ({
          epoch: 'e',
          offset,
          ingestedAt: 5,
          publication: {
            operator: 'broadcast',
            guid: 'minutes',
            event: 'edit',
            except: [],
            ephemeral: false,
            receipt: false,
            traceId: `t${offset}`,
            timestamp: offset,
            source: 'editor',
            contentType: offset % 5 === 0 ? 'application/msgpack' : 'application/json',
            value: offset % 5 === 0 ? encodeMsgpack({ offset }) : valueAt(offset)
          }
        }))
      }
    }
  }
  return log
}

const offsets = (/** @type {{ records: { offset: number }[] }} */ { records }) => records.map(({ offset }) => offset)

test('the position of a document is the end of its log, or null', async (t) => {
  const { call } = await startApi(t, { bus: logWith() })
  assert.deepEqual((await call('GET', '/v1/documents/minutes/position')).body, {
    ok: true,
    guid: 'minutes',
    position: { epoch: 'e', offset: 10 }
  })
  assert.deepEqual((await call('GET', '/v1/documents/a%2Fb/position')).body, { ok: true, guid: 'a/b', position: null })
})

test('history after a position has JSON values unchanged and msgpack in base64', async (t) => {
  const big = '{ "n": 12345678901234567890 }'
  const { call } = await startApi(t, { bus: logWith({ valueAt: () => Buffer.from(big) }) })
  const { status, text, body } = await call('GET', '/v1/documents/minutes/history?epoch=e&offset=3&limit=2')
  assert.equal(status, 200)
  assert.ok(text.includes(`"value":${big}`))
  const common = { event: 'edit', source: 'editor' }
  assert.deepEqual(body, {
    ok: true,
    guid: 'minutes',
    position: { epoch: 'e', offset: 10 },
    gap: null,
    records: [
      { offset: 4, traceId: 't4', timestamp: 4, contentType: 'application/json', value: JSON.parse(big), ...common },
      {
        offset: 5,
        traceId: 't5',
        timestamp: 5,
        contentType: 'application/msgpack',
        valueBase64: encodeMsgpack({ offset: 5 }).toString('base64'),
        ...common
      }
    ]
  })
})

test('history without a position has the newest records', async (t) => {
  const { call } = await startApi(t, { bus: logWith() })
  assert.deepEqual(offsets((await call('GET', '/v1/documents/minutes/history?limit=3')).body), [8, 9, 10])
  assert.deepEqual(offsets((await call('GET', '/v1/documents/minutes/history')).body), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  assert.deepEqual((await call('GET', '/v1/documents/other/history')).body, {
    ok: true,
    guid: 'other',
    position: null,
    gap: null,
    records: []
  })
})

test('of a log shorter than requested, history has all records', async (t) => {
  const bus = logWith({ first: 960, last: 1000 })
  const { call } = await startApi(t, { bus })
  const { body } = await call('GET', '/v1/documents/minutes/history?limit=1000')
  assert.equal(body.gap, null)
  assert.equal(body.records.at(-1).offset, 1000)
  assert.ok(body.records.length >= 20)
  // the log moves on between two reads
  bus.onRead = () => { bus.first += 5; bus.last += 5 }
  const moving = (await call('GET', '/v1/documents/minutes/history?limit=1000')).body
  assert.equal(moving.gap, null)
  assert.equal(moving.records.at(-1).offset, moving.position.offset)
  bus.onRead = () => {}
  bus.first = bus.last + 1
  assert.deepEqual((await call('GET', '/v1/documents/minutes/history')).body.records, [])
})

test('a position that the log cannot continue from is answered with the reason', async (t) => {
  const { call } = await startApi(t, { bus: logWith({ first: 5 }) })
  for (const [query, gap] of [
    ['epoch=e&offset=2', 'trimmed'],
    ['epoch=old&offset=7', 'epoch'],
    ['epoch=e&offset=11', 'epoch']
  ]) {
    const { body } = await call('GET', `/v1/documents/minutes/history?${query}`)
    assert.deepEqual(body, { ok: true, guid: 'minutes', position: { epoch: 'e', offset: 10 }, gap, records: [] })
  }
})

test('a position at the end of the log has nothing after it', async (t) => {
  const { call } = await startApi(t, { bus: logWith() })
  const { body } = await call('GET', '/v1/documents/minutes/history?epoch=e&offset=10')
  assert.deepEqual([body.gap, body.records], [null, []])
})

test('a long history is read in pages, and a caller that continues after each last record gets all of it', async (t) => {
  const bus = logWith({ last: 1234, valueAt: () => Buffer.from(JSON.stringify('x'.repeat(20_000))) })
  const { call } = await startApi(t, { bus })
  const all = []
  let offset = 0
  for (let answers = 0; offset < 1234; answers++) {
    const { text, body } = await call('GET', `/v1/documents/minutes/history?epoch=e&offset=${offset}&limit=1000`)
    assert.ok(text.length < 9 * 2 ** 20, 'the response is bounded')
    assert.ok(answers < 10)
    all.push(...offsets(body))
    offset = body.records.at(-1).offset
  }
  assert.deepEqual(all, Array.from({ length: 1234 }, (_, i) => i + 1))
  assert.ok(bus.largestRead <= 50)
})

test('wrong queries are refused, with the reason', async (t) => {
  const bus = logWith()
  const { call } = await startApi(t, { bus })
  for (const [query, message] of /** @type {[string, RegExp][]} */ ([
    ['limit=0', /^query limit must be >= 1$/],
    ['limit=1001', /limit must be <= 1000/],
    ['limit=x', /limit must be integer/],
    ['limit=1.5', /limit must be integer/],
    ['epoch=e', /epoch and offset go together/],
    ['offset=1', /epoch and offset go together/],
    ['epoch=e&offset=-1', /offset must be >= 0/],
    ['epoch=&offset=1', /epoch must NOT have fewer than 1 characters/],
    [`epoch=${'é'.repeat(65)}&offset=1`, /epoch must NOT have more than 64 characters/],
    ['limit=', /limit must be integer/],
    ['epoch=e&epoch=f&offset=1', /epoch must be string/],
    ['since=1', /must NOT have additional properties/]
  ])) {
    const { status, body } = await call('GET', `/v1/documents/minutes/history?${query}`)
    assert.deepEqual([status, body.error.code], [400, 'bad_request'], query)
    assert.match(body.error.message, message)
  }
  assert.equal(bus.reads, 0)
})
