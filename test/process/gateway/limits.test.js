import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, stillServed, watchBus } from '../../helpers/left-over.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { Allowance, ratesOf } from '../../../src/gateway/limits.js'

describe('what a connection may send', () => {
  const rates = ratesOf({ maxEventsPerSecond: 10, maxBytesPerSecond: 1000, maxRecordBytes: 500 })

  /** @param {Allowance} allowance @param {number} now @param {number} tries */
  const events = (allowance, now, tries) => Array.from({ length: tries }, () => allowance.event(now)).filter(Boolean).length

  test('is twice the rate of events at once, and the rate from then on', () => {
    const allowance = new Allowance(rates, 1000)
    assert.equal(events(allowance, 1000, 50), 20)
    assert.equal(events(allowance, 1099, 50), 0)
    assert.equal(events(allowance, 1100, 50), 1)
    assert.equal(events(allowance, 2100, 50), 10)
    assert.equal(events(allowance, 60_000, 50), 20)
    // it is not paid for again when the clock is set back
    assert.equal(events(allowance, 0, 50), 0)
    assert.equal(events(allowance, 1000, 50), 10)
  })

  test('is no event as long as more bytes have come than may', () => {
    const allowance = new Allowance(rates, 0)
    assert.equal(allowance.packet(1500, 0), true)
    assert.equal(events(allowance, 0, 1), 1)
    assert.equal(allowance.packet(2000, 0), true)
    assert.equal(events(allowance, 0, 1), 0)
    assert.equal(events(allowance, 1999, 1), 0)
    assert.equal(events(allowance, 2000, 1), 1)
  })

  test('is ten seconds\' worth of packets at once, and of bytes that were too many', () => {
    const packets = new Allowance(rates, 0)
    for (let i = 0; i < 1100; i++) assert.equal(packets.packet(0, 0), true)
    assert.equal(packets.packet(0, 0), false)
    assert.equal(packets.packet(0, 1000), true)
    const bytes = new Allowance(rates, 0)
    assert.equal(bytes.packet(11_500, 0), true)
    assert.equal(bytes.packet(1, 0), false)
  })
})

describe('a client that sends too much', () => {
  test('is told so by each answer, and served again later', async (t) => {
    const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '20' })
    const client = await connectClient(t, server.url)
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => client.ask('doc:leave', { guid: `${i}` })))
    const codes = answers.map(({ error }) => error.code)
    const limited = codes.filter((code) => code === 'rate_limited').length
    assert.ok(limited >= 50 && limited <= 60, `${limited} were refused`)
    assert.deepEqual(answers.at(-1), { ok: false, error: { code: 'rate_limited', message: 'too many events', retryable: true } })
    await waitFor(async () => (await client.ask('doc:leave', { guid: 'x' })).error.code === 'not_joined')
  })

  test('in bytes likewise', async (t) => {
    const server = await startEmbedded(t, { MAX_BYTES_PER_SECOND: '10000', MAX_RECORD_BYTES: '10000' })
    const client = await connectClient(t, server.url)
    const codes = []
    for (let i = 0; i < 5; i++) codes.push((await client.ask('doc:leave', { guid: 'x'.repeat(6000) })).error.code)
    assert.deepEqual(codes, ['bad_request', 'bad_request', 'bad_request', 'rate_limited', 'rate_limited'])
    assert.equal(client.connected, true)
  })

  test('may join as many documents as are allowed, however often it tries', async (t) => {
    const server = await startEmbedded(t, { MAX_DOCUMENTS_PER_CONNECTION: '50' })
    const bus = watchBus(server)
    const witness = await connectClient(t, server.url)
    const before = heapUsed()
    const raw = await rawWebSocket(t, server.url)
    await raw.connect()
    for (let i = 0; i < 10_000; i++) raw.send(`42${i}["doc:join",{"guid":"d${i}"}]`)
    await waitFor(() => raw.received.length === 10_002, { message: () => raw.received.length })
    /** @type {Record<string, number>} */
    const counts = {}
    for (const data of raw.received.slice(2)) {
      const code = /"code":"(\w+)"/.exec(data.toString())?.[1] ?? 'ok'
      counts[code] = (counts[code] ?? 0) + 1
    }
    assert.deepEqual(Object.keys(counts).sort(), ['ok', 'rate_limited', 'too_many_documents'])
    assert.equal(counts.ok, 50)
    assert.ok(counts.too_many_documents >= 150 && counts.too_many_documents < 1000, JSON.stringify(counts))
    assert.equal(bus.documents.size, 50)
    await stillServed(witness)
    raw.ws.close()
    witness.disconnect()
    await nothingLeft(server, bus)
    raw.received.length = 0
    const grown = heapUsed() - before
    assert.ok(grown < 4 * 2 ** 20, `${grown} bytes are still in use`)
  })

  test('and does not stop is cut off, with a word', async (t) => {
    const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '10' })
    const bus = watchBus(server)
    const client = await connectClient(t, server.url)
    const gone = client.next('disconnect')
    for (let i = 0; i < 2000; i++) client.emit('doc:leave', { guid: 'x' })
    assert.equal((await gone)[0], 'io server disconnect')
    assert.deepEqual(client.received, [{ event: 'gateway:disconnect', payload: { code: 'rate_limited', message: 'too many events', retryable: true }, meta: undefined }])
    await nothingLeft(server, bus)
  })
})

/** @returns {number} bytes that are not garbage */
function heapUsed () {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
