import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { kConnection } from '../../../src/gateway/socketio-connection.js'
import { encodeMsgpack } from '../../../src/wire/msgpack.js'

const ASK = { 'x-receipt': 'true' }
const KINDS = /** @type {const} */ (['json', 'msgpack']).flatMap((codec) =>
  [['websocket'], ['polling'], ['polling', 'websocket']].map((transports) => ({ codec, transports }))
)

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [env]
 * @param {import('../../../src/base/common/clock.js').Clock} [clock]
 */
async function setUp (t, env, clock) {
  const { log, lines } = recordingLog()
  const server = await startEmbedded(t, env, log, { clock })
  /**
   * @returns {{ guid?: string, event: string, traceId: string, receipt:
   *   import('../../../src/documents/receipts/summary.js').Summary }[]}
   */
  const told = () =>
    lines.filter(({ text }) => text.endsWith(' receipt'))
      .map(({ text }) => JSON.parse(text.slice(0, -' receipt'.length)))
  return {
    ...server,
    /** @param {number} count */
    async receipts (count) {
      await waitFor(() => told().length >= count, {
        message: () => `${count} receipts, there are ${JSON.stringify(told())}`
      })
      return told()
    },
    told,
    /** @param {Parameters<typeof connectClient>[2]} [options] */
    async join (options) {
      const client = await connectClient(t, server.url, options)
      assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
      return client
    },
    async counted () {
      await server.metrics.collect()
      const { values } = await server.metrics.receipts.get()
      return Object.fromEntries(
        values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value])
      )
    }
  }
}

test('every kind of client is asked, and its acknowledgement counts with any content', async (t) => {
  const { join, post, receipts, counted } = await setUp(t)
  const clients = await Promise.all(KINDS.map((kind) => join(kind)))
  const answers = [
    [],
    ['read'],
    [{ at: 1 }, null],
    [Buffer.from([1, 2, 3])],
    [{ deep: [Buffer.from([1]), Buffer.from([2])] }]
  ]
  /** @type {unknown[][]} */
  const seen = []
  for (const [i, client] of clients.entries()) {
    client.on('edit', (payload, meta, acknowledge) => {
      seen.push([payload, meta.guid])
      acknowledge(...answers[(i + seen.length) % answers.length])
    })
  }
  const values = [{ a: 1 }, encodeMsgpack({ b: 2 }), encodeMsgpack({ binary: Buffer.from([7]) })]
  for (const [i, value] of values.entries())
    await post('/v1/documents/doc/broadcast', value, { ...ASK, 'x-event': 'edit', 'x-trace-id': `t${i}` })
  const told = await receipts(3)
  assert.equal(seen.length, 3 * clients.length)
  for (const [i, { guid, event, traceId, receipt }] of told.entries()) {
    assert.deepEqual([guid, event, traceId], ['doc', 'edit', `t${i}`])
    const { p50, p99, ...counts } = receipt
    assert.deepEqual(counts, {
      delivered: clients.length,
      acknowledged: clients.length,
      missing: [],
      more: 0,
      unasked: 0
    })
    assert.ok(p50 !== null && p99 !== null && p50 <= p99)
  }
  assert.deepEqual(await counted(), { acknowledged: 3 * clients.length })
})

for (const [name, path] of [['user', '/v1/users/ada/send'], ['socket', ''], ['everyone', '/v1/broadcast']]) {
  test(`a record for ${name} is acknowledged as well`, async (t) => {
    const secret = 'x'.repeat(32)
    const { createSigner } = await import('fast-jwt')
    const server = await setUp(t, { AUTH_JWT_SECRET: secret })
    const client = await server.join({ auth: { token: createSigner({ key: secret })({ sub: 'ada' }) } })
    client.on('message', (_payload, _meta, acknowledge) => acknowledge())
    await server.post(path || `/v1/sockets/${client.id}/send`, 1, ASK)
    const [{ receipt, guid }] = await server.receipts(1)
    assert.deepEqual([receipt.delivered, receipt.acknowledged, guid], [1, 1, undefined])
  })
}

test('clients that never acknowledge, have disconnected, or were not asked do not count, and each counts only once', async (t) => {
  const { clock, pass } = holdTime(t)
  const { join, post, receipts, counted, url, gateway } = await setUp(t, { RECEIPT_TIMEOUT: '4000' }, clock)
  const [good, silent, leaving, outsider] = await Promise.all([
    join(),
    join({ codec: 'msgpack' }),
    join(),
    connectClient(t, url)
  ])
  const sids = [silent.id, leaving.id].sort()
  /** @type {number | undefined} */
  let id
  good.io.on('packet', (packet) => { id = packet.id })
  good.on('message', (_payload, _meta, acknowledge) => acknowledge())
  leaving.on('message', () => leaving.disconnect())
  await post('/v1/documents/doc/broadcast', 1, ASK)
  await waitFor(() => id)
  // Stock clients never do this.
  const spoof = (/** @type {unknown} */ client) => /** @type {any} */ (client).packet({ type: 3, id, data: [] })
  for (const client of [good, outsider]) spoof(client)
  await waitFor(async () => (await counted()).stray === 2 && gateway.connections === 3, { message: counted })
  // and the bucket of the timing wheel
  pass(4500)
  const [{ receipt }] = await receipts(1)
  assert.deepEqual(
    [receipt.delivered, receipt.acknowledged, receipt.missing.map(({ sid }) => sid).sort()],
    [3, 1, sids]
  )
  // after the timeout
  spoof(silent)
  await waitFor(async () => (await counted()).stray === 3)
  assert.deepEqual(await counted(), { acknowledged: 1, missing: 2, stray: 3 })
  for (const client of [good, silent, outsider])
    assert.equal((await client.ask('doc:leave', { guid: 'other' })).error.code, 'not_joined', 'it is still connected')
})

test('acknowledgements of extensions work beside receipts', async (t) => {
  const { join, post, receipts, gateway } = await setUp(t)
  const client = await join()
  client.on('message', (_payload, _meta, acknowledge) => acknowledge('a receipt'))
  client.on('question', (acknowledge) => acknowledge('an answer'))
  const socket = /** @type {import('socket.io').Socket} */ (gateway.io.sockets.sockets.get(String(client.id)))
  for (let i = 0; i < 3; i++) {
    const answer = socket.timeout(30_000).emitWithAck('question')
    await post('/v1/documents/doc/broadcast', i, ASK)
    assert.equal(await answer, 'an answer')
    assert.deepEqual(await gateway.io.timeout(30_000).emitWithAck('question'), ['an answer'])
  }
  assert.deepEqual((await receipts(3)).map(({ receipt }) => receipt.acknowledged), [1, 1, 1])
})

test('a replayed record requests no acknowledgement', async (t) => {
  const { join, post, receipts, told, url } = await setUp(t)
  const member = await join()
  member.on('message', (_payload, _meta, acknowledge) => acknowledge())
  const { body } = await post('/v1/documents/doc/broadcast', 1, ASK)
  await receipts(1)
  const back = await connectClient(t, url)
  /** @type {unknown[][]} */
  const got = []
  back.on('message', (...args) => got.push(args))
  assert.equal(
    (await back.ask('doc:join', { guid: 'doc', position: { epoch: body.position.epoch, offset: 0 } })).recovered,
    true
  )
  assert.deepEqual(got.map((args) => args.length), [2])
  assert.equal(told().length, 1)
})

test('requested acknowledgements do not disconnect a client', async (t) => {
  const { join, post, receipts, gateway } = await setUp(t, { MAX_EVENTS_PER_SECOND: '1' })
  const client = await join()
  const connection = /** @type {any} */ (gateway.io.sockets.sockets.get(String(client.id)))[kConnection]
  client.on('message', (_payload, _meta, acknowledge) => acknowledge())
  // such a client may send a burst of 110 packets
  for (let i = 0; i < 150; i++) await post('/v1/documents/doc/broadcast', i, ASK)
  await receipts(150)
  assert.equal(connection.open, true)
})

test('inkcast-client acknowledges a sampled record by itself, and a stock client gets it as any other', async (t) => {
  const { join, post, told, url, metrics } = await setUp(t, { RECEIPT_SAMPLE: '1' })
  const stock = await join()
  const page = startClient(t, url)
  const doc = await page.open('doc')
  /** @type {unknown[][]} */
  const got = []
  const record = (/** @type {unknown[]} */ ...args) => { got.push(args) }
  for (const receiver of /** @type {any[]} */ ([doc, page, stock])) receiver.on('message', record)
  await post('/v1/documents/doc/broadcast', 1)
  await post('/v1/broadcast', 2)
  const counted = async () => {
    const { values } = await metrics.sampled_seconds.get()
    return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value
  }
  await waitFor(async () => await counted() === 2)
  await waitFor(() => got.length === 4)
  assert.deepEqual(got.map((args) => args.filter((arg) => arg !== undefined).length), [2, 2, 2, 2])
  assert.deepEqual(got.map(([, meta]) => /** @type {any} */ (meta).sampled ?? false).sort(), [false, false, true, true])
  assert.deepEqual(told(), [])
})
