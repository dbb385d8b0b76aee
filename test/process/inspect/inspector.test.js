import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startCluster } from '../../helpers/cluster.js'
import { fileScope } from '../../helpers/file-scope.js'
import { openWatch } from '../../helpers/watch.js'
import { waitFor } from '../../helpers/wait.js'

const READ = 'reading-0123456789'
const CONTROL = 'control-0123456789'

describe('the inspector in embedded mode', { timeout: 120_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let inkcast
  before(async () => { inkcast = await startCluster(scope, { PRESENCE_GRACE: '100' }) })
  const watch = (/** @type {import('node:test').TestContext} */ t, /** @type {string} */ query) =>
    openWatch(t, inkcast.adminUrl, query, 1)

  test('a record of a document shows each hop with its time, each client, and its acknowledgement', async (t) => {
    const guid = randomUUID()
    const clients = await Promise.all(['json', 'msgpack'].map((codec) =>
      connectClient(t, inkcast.url, { codec: /** @type {any} */ (codec), auth: { client: `tab-${codec}` } })
    ))
    await Promise.all(clients.map((client) => client.ask('doc:join', { guid })))
    clients[0].on('cell', (_, __, acknowledge) => acknowledge())
    const { events, seen } = await watch(t, `guid=${guid}`)
    const timestamp = Date.now() - 40
    const { body } = await inkcast.post(`/v1/documents/${guid}/broadcast`, { secret: 'value' }, {
      'x-event': 'cell', 'x-receipt': 'true', 'x-timestamp': String(timestamp)
    })
    const [acknowledged] = await seen('acknowledged')
    const { traceId } = body
    await seen('written')
    const hops = ['produced', 'ingested', 'logged', 'received', 'written', 'acknowledged']
    // a worker may receive a record before the reply to the one that published it
    const own = events.filter((event) => event.traceId === traceId)
      .sort((a, b) => hops.indexOf(a.hop) - hops.indexOf(b.hop))
    assert.deepEqual(own.map(({ hop }) => hop), hops)
    const [produced, ingested, logged, received, written] = own
    assert.equal(produced.at, timestamp)
    assert.ok(Number(ingested.ms) >= 40 && Number(ingested.ms) < 20_000, String(ingested.ms))
    assert.deepEqual([logged.offset, logged.epoch], [body.position.offset, body.position.epoch])
    assert.equal(received.offset, logged.offset)
    assert.equal(written.count, 2)
    assert.deepEqual(written.clients?.map(({ client }) => client).sort(), ['tab-json', 'tab-msgpack'])
    for (const { ms } of [logged, received, written, acknowledged]) assert.ok(Number(ms) >= 0, String(ms))
    assert.equal(acknowledged.client, 'tab-json')
    for (const event of own) assert.equal(event.process, 'embedded-0')
    assert.doesNotMatch(JSON.stringify(events), /secret|value/, 'values are not in the events')
  })

  test('a user\'s records, requests, refusals and end are seen, and those of others are not', async (t) => {
    const guid = randomUUID()
    const [watched, other] = await Promise.all([connectClient(t, inkcast.url), connectClient(t, inkcast.url)])
    const { id } = watched
    const { events, seen } = await watch(t, `uid=${encodeURIComponent(await uidOf(watched, guid))}`)
    await other.ask('doc:join', { guid })
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 1)
    const [written] = await seen('written')
    assert.deepEqual([written.guid, written.count, written.clients?.[0].sid], [guid, 1, id])
    await watched.ask('doc:send', { guid, data: undefined })
    await seen('client_event', ({ event, reason }) => event === 'doc:send' && reason === 'bad_request')
    await inkcast.post(`/v1/sockets/${id}/send`, { hello: 1 })
    await seen('written', ({ operator }) => operator === 'socket')
    await fetch(`${inkcast.apiUrl}/v1/sockets/${id}`, { method: 'DELETE' })
    await seen('closing', ({ reason }) => reason === 'kicked')
    const [closed] = await seen('closed')
    assert.equal(closed.reason, 'kicked')
    await seen('left', (event) => event.guid === guid && event.reason === 'kicked')
    assert.deepEqual(events.filter(({ sid }) => sid === other.id), [])
    for (const { clients = [] } of events) for (const { sid } of clients) assert.equal(sid, id)
  })

  test('a trace id is followed from the message of a client to the others', async (t) => {
    const [guid, traceId] = [randomUUID(), randomUUID()]
    const client = await connectClient(t, inkcast.url)
    await client.ask('doc:join', { guid })
    const { events, seen } = await watch(t, `trace=${traceId}`)
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 1)
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 2, { 'x-trace-id': traceId })
    await seen('written')
    assert.deepEqual(new Set(events.flatMap((event) => event.traceId ?? [])), new Set([traceId]))
  })

  test('a client that reads nothing shows what it waits for, and what it does not get', async (t) => {
    const guid = randomUUID()
    const client = await connectClient(t, inkcast.url)
    await client.ask('doc:join', { guid })
    const { seen, of } = await watch(t, `guid=${guid}`)
    const { _socket: socket } = /** @type {any} */ (client.io.engine.transport).ws
    socket.pause()
    const large = { text: 'x'.repeat(200_000) }
    for (let i = 0; i < 100 && of('behind').length === 0; i++) {
      await inkcast.post(`/v1/documents/${guid}/broadcast`, large)
      await inkcast.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-ephemeral': 'true' })
    }
    const [queued] = await seen('queued')
    assert.equal(queued.clients?.[0].sid, client.id)
    await seen('behind')
    const [dropped] = await seen('dropped')
    assert.equal(dropped.reason, 'slow')
    socket.resume()
    await seen('written', ({ ms, traceId }) => traceId === queued.traceId && Number(ms) > Number(queued.ms))
    await seen('caught_up')
  })

  test('members that a record excludes are named', async (t) => {
    const guid = randomUUID()
    const client = await connectClient(t, inkcast.url, { auth: { client: 'publisher' } })
    await client.ask('doc:join', { guid })
    const { seen } = await watch(t, `guid=${guid}`)
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-except': 'publisher' })
    const [excepted] = await seen('excepted')
    assert.equal(excepted.clients?.[0].client, 'publisher')
  })

  test('a refused publication shows its code, a repeated one that it is a duplicate', async (t) => {
    const guid = randomUUID()
    const { seen } = await watch(t, `guid=${guid}`)
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 1, { 'idempotency-key': '"same"', 'x-trace-id': 'one' })
    await inkcast.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-event': 'doc:reserved' })
    await seen('logged')
    // a position behind the log's end: the client has to load the document again
    const client = await connectClient(t, inkcast.url)
    await client.ask('doc:join', { guid, position: { epoch: 'another', offset: 7 } })
    const [resync] = await seen('resync')
    assert.deepEqual([resync.sid, resync.reason], [client.id, 'epoch'])
  })

  test('a watch ends with its request, and costs nothing after that', async (t) => {
    const { stop } = await watch(t, 'guid=short')
    const watches = async () => /^inkcast_inspect_watches\{.*\} (\d+)$/m.exec(await inkcast.metrics())?.[1]
    await waitFor(async () => Number(await watches()) >= 1)
    await stop()
    await waitFor(async () => await watches() === '0', { timeout: 12_000, message: 'no watch to be left' })
  })

  test('a wrong question is refused, and a 21st watch', async (t) => {
    for (const query of ['', 'guid=', 'guid=a&uid=b', 'name=a', `guid=${'x'.repeat(300)}`])
      assert.equal((await fetch(`${inkcast.adminUrl}/inspect?${query}`)).status, 400, query)
    const open = await Promise.all(Array.from({ length: 20 }, (_, i) => watch(t, `guid=many-${i}`)))
    const refused = await fetch(`${inkcast.adminUrl}/inspect?guid=one-more`)
    assert.equal(refused.status, 429)
    assert.equal(/** @type {any} */ (await refused.json()).error.code, 'rate_limited')
    await Promise.all(open.map(({ stop }) => stop()))
  })
})

test('the inspector needs the right to read', { timeout: 60_000 }, async (t) => {
  const inkcast = await startCluster(t, { ADMIN_READ_TOKEN: READ, ADMIN_TOKEN: CONTROL })
  const ask = async (/** @type {Record<string, string>} */ headers) => {
    const ending = new AbortController()
    const { status } = await fetch(`${inkcast.adminUrl}/inspect?guid=g`, { headers, signal: ending.signal })
    ending.abort()
    return status
  }
  assert.equal(await ask({}), 401)
  assert.equal(await ask({ authorization: `Bearer ${READ}` }), 200)
  assert.equal(await ask({ authorization: `Bearer ${CONTROL}` }), 200)
})

/**
 * @param {Awaited<ReturnType<typeof connectClient>>} client
 * @param {string} guid that it opens
 * @returns {Promise<string>} its user id, which an anonymous client does not know
 */
async function uidOf (client, guid) {
  const { members } = await client.ask('doc:join', { guid, members: true })
  return members[0].uid
}
