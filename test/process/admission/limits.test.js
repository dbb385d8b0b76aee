import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { collectGarbage } from '../../helpers/collect-garbage.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdableTime, holdTime } from '../../helpers/held-time.js'
import { nothingLeft, stillServed, watchBus } from '../../helpers/left-over.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { kConnection } from '../../../src/gateway/socketio-connection.js'
import { RateLimit, ratesOf } from '../../../src/transport/admission/rate-limit.js'
import { UserBudget } from '../../../src/transport/admission/user-budget.js'

describe('the input of a connection', () => {
  const rates = ratesOf({ eventRates: { all: 10 }, maxBytesPerSecond: 1000, maxRecordBytes: 500 })

  const limitAt = (/** @type {number} */ now) => new RateLimit(rates, new UserBudget(rates, now), now)

  /** @param {RateLimit} rateLimit @param {number} now @param {number} tries */
  const events = (rateLimit, now, tries) =>
    Array.from({ length: tries }, () => rateLimit.event(now)).filter(Boolean).length

  test('allows twice the rate of events at once, and the rate from then on', () => {
    const rateLimit = limitAt(1000)
    assert.equal(events(rateLimit, 1000, 50), 20)
    assert.equal(events(rateLimit, 1099, 50), 0)
    assert.equal(events(rateLimit, 1100, 50), 1)
    assert.equal(events(rateLimit, 2100, 50), 10)
    assert.equal(events(rateLimit, 60_000, 50), 20)
    // setting the clock back does not charge twice
    assert.equal(events(rateLimit, 0, 50), 0)
    assert.equal(events(rateLimit, 1000, 50), 10)
  })

  test('allows no event while its bytes exceed the limit', () => {
    const rateLimit = limitAt(0)
    assert.equal(rateLimit.packet(1500, 0), true)
    assert.equal(events(rateLimit, 0, 1), 1)
    assert.equal(rateLimit.packet(2000, 0), true)
    assert.equal(events(rateLimit, 0, 1), 0)
    assert.equal(events(rateLimit, 1999, 1), 0)
    assert.equal(events(rateLimit, 2000, 1), 1)
  })

  test('allows ten seconds\' worth of packets at once, and of excess bytes', () => {
    const packets = limitAt(0)
    for (let i = 0; i < 1100; i++) assert.equal(packets.packet(0, 0), true)
    assert.equal(packets.packet(0, 0), false)
    assert.equal(packets.packet(0, 1000), true)
    const bytes = limitAt(0)
    assert.equal(bytes.packet(11_500, 0), true)
    assert.equal(bytes.packet(1, 0), false)
  })
})

test('the events of one user are limited over all connections, as for five of them', () => {
  const rates = ratesOf({ eventRates: { all: 10 }, maxBytesPerSecond: 1000, maxRecordBytes: 500 })
  for (const connections of [1, 4, 5, 6, 60]) {
    const budget = new UserBudget(rates, 0)
    const limits = Array.from({ length: connections }, () => new RateLimit(rates, budget, 0))
    const served = (/** @type {number} */ now) => {
      let count = 0
      for (let i = 0; i < 30; i++) for (const limit of limits) if (limit.event(now)) count++
      return count
    }
    assert.equal(served(0), 20 * Math.min(connections, 5))
    assert.equal(served(1000), 10 * Math.min(connections, 5))
  }
})

describe('the CPU time of a connection', () => {
  const rates = ratesOf({ eventRates: { all: 1000 }, maxBytesPerSecond: 1000, maxRecordBytes: 500 })
  const limitAt = (/** @type {number} */ now) => new RateLimit(rates, new UserBudget(rates, now), now)

  test('may be a quarter of a core, twice that at once, including the work after decoding', () => {
    const rateLimit = limitAt(0)
    assert.equal(rateLimit.event(0), true)
    rateLimit.decoded(160)
    assert.equal(rateLimit.event(0), true)
    rateLimit.decoded(100)
    assert.equal(rateLimit.event(0), false)
    assert.equal(rateLimit.overworked(0), true)
    // 780 ms used, 500 allowed at once, and 250 more per second
    assert.equal(rateLimit.event(1119), false)
    assert.equal(rateLimit.event(1120), true)
    assert.equal(rateLimit.overworked(1120), false)
    // never a reason to disconnect
    rateLimit.decoded(1e6)
    assert.equal(rateLimit.packet(1, 1120), true)
  })

  test('includes the bytes of its responses, which alone never disconnect it', () => {
    const rateLimit = limitAt(0)
    rateLimit.answered(1500)
    assert.equal(rateLimit.event(0), true)
    rateLimit.answered(500)
    assert.equal(rateLimit.event(0), false)
    assert.equal(rateLimit.event(500), true)
    rateLimit.answered(1e9)
    assert.equal(rateLimit.packet(4000, 500), true)
    assert.equal(rateLimit.event(5000), false)
    assert.equal(rateLimit.event(9600), true)
    // a debt from sending remains
    rateLimit.packet(9000, 9600)
    rateLimit.answered(1)
    assert.equal(rateLimit.packet(1000, 9600), true)
    assert.equal(rateLimit.packet(200, 9600), false)
  })
})

describe('a client that sends too much', () => {
  test('is refused above its limit, before its packets are decoded, and served again later', async (t) => {
    const server = await startEmbedded(t)
    for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
      const client = await connectClient(t, server.url, { codec })
      const { [kConnection]: connection } = /** @type {any} */ (
        server.gateway.io.sockets.sockets.get(/** @type {string} */ (client.id))
      )
      await client.ask('doc:join', { guid: 'doc' })
      /** @type {number[]} */
      const charged = []
      const decoded = connection.decoded.bind(connection)
      connection.decoded = (/** @type {number} */ ms) => {
        charged.push(ms)
        decoded(ms)
      }
      const signal = (/** @type {unknown} */ data) => client.ask('doc:signal', { guid: 'doc', event: 'noise', data })
      assert.equal((await signal(1)).ok, true)
      assert.equal(charged.length, 0)
      assert.equal((await signal(Array(20_000).fill({}))).ok, true)
      assert.equal(charged.length, 1)
      assert.ok(charged[0] >= 0)
      // as if it had sent expensive messages for half a minute
      decoded(10_000)
      for (const data of [1, 'x'.repeat(5000), Array(1000).fill([]), Buffer.alloc(10)])
        assert.deepEqual((await signal(data)).error, {
          code: 'rate_limited',
          message: 'too many events',
          retryable: true
        })
      assert.equal((await client.ask('no such event')).error.code, 'rate_limited')
      assert.equal(client.connected, true)
      decoded(-10_000)
      await waitFor(async () => (await signal(1)).ok)
    }
  })

  test('by requesting lists larger than its requests is refused, with every kind of request', async (t) => {
    const time = holdableTime(t)
    const server = await startEmbedded(t, {}, undefined, { clock: time.clock })
    const members = await Promise.all(Array.from({ length: 50 }, () => connectClient(t, server.url)))
    for (const member of members)
      assert.equal((await member.ask('doc:join', { guid: 'doc', state: { text: 'x'.repeat(1900) } })).ok, true)
    const witness = await connectClient(t, server.url)
    await witness.ask('doc:join', { guid: 'doc' })
    // changes of the list are batched: time may stand still only when all are in it
    const listed = async () => (await witness.ask('doc:members', { guid: 'doc' })).members.length
    await waitFor(async () => await listed() === 50, { message: listed })
    const questions = /** @type {[string, object][]} */ ([
      ['doc:members', { guid: 'doc' }],
      ['doc:members', { guid: 'doc', limit: 500 }],
      ['doc:join', { guid: 'doc', members: true }]
    ])
    const clients = await Promise.all(questions.map(async () => {
      const client = await connectClient(t, server.url)
      await client.ask('doc:join', { guid: 'doc' })
      return client
    }))
    time.hold()
    await Promise.all(questions.map(async ([event, question], index) => {
      const client = clients[index]
      let bytes = 0
      const codes = []
      for (let i = 0; i < 100; i++) {
        const answer = await client.ask(event, question)
        codes.push(answer.ok ? 'ok' : answer.error.code)
        bytes += JSON.stringify(answer).length
      }
      // about 100 KB each, and 2 MB at once
      const served = codes.indexOf('rate_limited')
      assert.deepEqual(codes, [...Array(served).fill('ok'), ...Array(100 - served).fill('rate_limited')], event)
      assert.ok(served > 18 && bytes < 2 ** 21 + 110_000, `${event}: ${served} answered, ${bytes} bytes sent`)
      assert.equal(client.connected, true)
    }))
    assert.equal((await witness.ask('doc:members', { guid: 'doc' })).members.length >= 50, true)
  })

  test('in one message gets bad_value, where it is msgpack, and stays connected', async (t) => {
    const server = await startEmbedded(t)
    const client = await connectClient(t, server.url, { codec: 'msgpack' })
    await client.ask('doc:join', { guid: 'doc' })
    const { error } = await client.ask('doc:signal', { guid: 'doc', event: 'broad', data: Array(200_000).fill(null) })
    assert.deepEqual(error, {
      code: 'bad_value',
      message: 'there are more than 50000 values in one message',
      retryable: false
    })
    assert.equal(
      (await client.ask('doc:signal', { guid: 'doc', event: 'broad', data: Array(45_000).fill(null) })).ok,
      true
    )
  })

  test('gets an error for each event, and is served again later', async (t) => {
    const time = holdTime(t)
    const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '20' }, undefined, { clock: time.clock })
    const client = await connectClient(t, server.url)
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => client.ask('doc:leave', { guid: `${i}` })))
    const codes = answers.map(({ error }) => error.code)
    assert.deepEqual(codes, [...Array(40).fill('not_joined'), ...Array(60).fill('rate_limited')])
    assert.deepEqual(answers.at(-1), {
      ok: false,
      error: { code: 'rate_limited', message: 'too many events', retryable: true }
    })
    time.pass(51)
    for (const code of ['not_joined', 'rate_limited'])
      assert.equal((await client.ask('doc:leave', { guid: 'x' })).error.code, code)
  })

  test('in bytes is refused likewise', async (t) => {
    const { clock } = holdTime(t)
    const env = { MAX_BYTES_PER_SECOND: '10000', MAX_RECORD_BYTES: '10000' }
    const server = await startEmbedded(t, env, undefined, { clock })
    const client = await connectClient(t, server.url)
    const codes = []
    for (let i = 0; i < 5; i++) codes.push((await client.ask('doc:leave', { guid: 'x'.repeat(6000) })).error.code)
    assert.deepEqual(codes, ['bad_request', 'bad_request', 'bad_request', 'rate_limited', 'rate_limited'])
    assert.equal(client.connected, true)
  })

  test('may join as many documents as are allowed, regardless of its attempts', async (t) => {
    const time = holdableTime(t)
    const server = await startEmbedded(t, { MAX_DOCUMENTS_PER_CONNECTION: '50' }, undefined, { clock: time.clock })
    const bus = watchBus(server)
    const witness = await connectClient(t, server.url)
    const before = heapUsed()
    const raw = await rawWebSocket(t, server.url)
    await raw.connect()
    time.hold()
    for (let i = 0; i < 10_000; i++) raw.send(`42${i}["doc:join",{"guid":"d${i}"}]`)
    await waitFor(() => raw.received.length === 10_002, { message: () => raw.received.length })
    /** @type {Record<string, number>} */
    const counts = {}
    for (const data of raw.received.slice(2)) {
      const code = /"code":"(\w+)"/.exec(data.toString())?.[1] ?? 'ok'
      counts[code] = (counts[code] ?? 0) + 1
    }
    assert.deepEqual(counts, { ok: 50, too_many_documents: 150, rate_limited: 9800 })
    time.goOn()
    assert.equal(bus.documents.size, 50)
    await stillServed(witness)
    raw.ws.close()
    witness.disconnect()
    await nothingLeft(server, bus)
    raw.received.length = 0
    const grown = heapUsed() - before
    assert.ok(grown < 4 * 2 ** 20, `${grown} bytes are still in use`)
  })

  test('and does not stop is disconnected, with a reason', async (t) => {
    const server = await startEmbedded(t, { MAX_EVENTS_PER_SECOND: '10' })
    const bus = watchBus(server)
    const client = await connectClient(t, server.url)
    const gone = client.next('disconnect')
    for (let i = 0; i < 2000; i++) client.emit('doc:leave', { guid: 'x' })
    assert.equal((await gone)[0], 'io server disconnect')
    const { retryInMs, ...told } = client.received[0].payload
    assert.deepEqual(
      [client.received.length, client.received[0].event, told],
      [1, 'gateway:disconnect', { code: 'rate_limited', message: 'too many events', retryable: true }]
    )
    assert.ok(retryInMs >= 1000 && retryInMs <= 5000)
    await nothingLeft(server, bus)
  })
})

/** @returns {number} live bytes */
function heapUsed () {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
