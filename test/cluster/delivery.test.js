import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { encodeMsgpack } from '../../src/wire/msgpack.js'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, MAX_DOCUMENTS_PER_CONNECTION: '1000', ...topics.env })
}, { timeout: 90_000 })

/** Worker number of a connection id. @param {{ id?: string }} client */
const workerOf = (client) => client.id?.slice(0, 2)

/** @param {number} i @returns {{ payload: any, contentType: string }} */
function samplePayload (i) {
  if (i % 10 === 3)
    return {
      payload: { i, bytes: randomBytes(64), nested: [{ more: Buffer.from([0, 255, 128]) }] },
      contentType: 'application/msgpack'
    }
  if (i % 10 === 7)
    return {
      payload: [i, 'Grüße, 世界 🌍 \u2028 "quoted" \\ / \u0000', null, true, 1.5e300],
      contentType: 'application/json'
    }
  if (i % 250 === 100) return { payload: { i, large: 'ä'.repeat(499_900) }, contentType: 'application/json' }
  return { payload: { i, text: `record ${i}` }, contentType: i % 2 ? 'application/json' : 'application/msgpack' }
}

/** Binary arrives as Buffer or Uint8Array, depending on the codec. @param {any} value @returns {any} */
function plain (value) {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('hex') }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
  return value
}

test(
  'each of 200 clients of all kinds on two workers gets exactly the records of its documents, in order',
  { timeout: 360_000 },
  async (t) => {
    const guids = Array.from({ length: 20 }, () => `document-${randomUUID()}`)
    const kinds = [
      { codec: /** @type {const} */ ('json'), transports: ['websocket'] },
      { codec: /** @type {const} */ ('msgpack'), transports: ['websocket'] },
      { codec: /** @type {const} */ ('json'), transports: ['polling', 'websocket'] },
      { codec: /** @type {const} */ ('msgpack'), transports: ['polling'] },
      { codec: /** @type {const} */ ('json'), transports: ['websocket'] },
      { codec: /** @type {const} */ ('msgpack'), transports: ['websocket'] },
      { codec: /** @type {const} */ ('json'), transports: ['polling'] },
      { codec: /** @type {const} */ ('msgpack'), transports: ['polling', 'websocket'] }
    ]
    /** @type {{ client: Awaited<ReturnType<typeof connectClient>>, mine: Set<string> }[]} */
    const clients = []
    for (let batch = 0; batch < 200; batch += 20) {
      clients.push(
        ...(await Promise.all(
          Array.from({ length: 20 }, async (_, n) => {
            const i = batch + n
            const client = await connectClient(t, cluster.url, kinds[i % kinds.length])
            const mine = [guids[i % 20], guids[(i * 7 + 3) % 20]]
            for (const guid of new Set(mine)) assert.equal((await client.ask('doc:join', { guid })).ok, true)
            return { client, mine: new Set(mine) }
          })
        ))
      )
    }
    assert.equal(new Set(clients.map(({ client }) => workerOf(client))).size, 2, 'both workers have clients')

    const producer = await topics.producer()
    /** @type {Map<string, any[]>} */
    const produced = new Map(guids.map((guid) => [guid, []]))
    for (let i = 0; i < 1000; i += 20) {
      const messages = Array.from({ length: 20 }, (_, n) => {
        const guid = guids[(i + n * 3) % 20]
        const { payload, contentType } = samplePayload(i + n)
        produced.get(guid)?.push(plain(payload))
        return {
          key: guid,
          value: contentType === 'application/json' ? JSON.stringify(payload) : encodeMsgpack(payload),
          headers: { 'x-operator': 'broadcast', 'x-guid': guid, 'content-type': contentType }
        }
      })
      // one request holds up to 1 MB
      const large = messages.filter(({ value }) => value.length > 100_000)
      if (large.length === 0) await producer.send({ topic: topics.downlink, messages })
      else for (const message of messages) await producer.send({ topic: topics.downlink, messages: [message] })
    }

    const expected = (/** @type {Set<string>} */ mine) =>
      [...mine].reduce((sum, guid) => sum + (produced.get(guid)?.length ?? 0), 0)
    await waitFor(() => clients.every(({ client, mine }) => client.received.length >= expected(mine)), {
      timeout: 60_000,
      message: () =>
        clients
          .filter(({ client, mine }) => client.received.length < expected(mine))
          .slice(0, 5)
          .map(({ client, mine }) => `${client.received.length} of ${expected(mine)}`)
    })
    for (const { client, mine } of clients) {
      assert.equal(client.received.length, expected(mine))
      for (const guid of mine) {
        const records = client.received.filter(({ meta }) => meta.guid === guid)
        assert.deepEqual(
          records.map(({ meta }) => meta.offset),
          records.map((_, i) => i + 1)
        )
        assert.deepEqual(
          records.map(({ payload }) => plain(payload)),
          produced.get(guid)
        )
      }
    }
  }
)

test('a signal reaches the members on the other worker and not its sender', { timeout: 90_000 }, async (t) => {
  const guid = `signal-${randomUUID()}`
  const clients = await Promise.all(Array.from({ length: 8 }, () => connectClient(t, cluster.url)))
  for (const client of clients) await client.ask('doc:join', { guid })
  await clients[0].ask('doc:signal', { guid, event: 'cursor', data: { x: 1 } })
  await waitFor(() => clients.slice(1).every(({ received }) => received.length === 1), { message: 'the signal' })
  assert.equal(clients[0].received.length, 0)
  assert.equal(clients[1].received[0].meta.from, clients[0].id)
  assert.equal(clients[1].received[0].meta.offset, undefined)
})

test('metrics of all processes are merged, and readiness names each of them', { timeout: 90_000 }, async (t) => {
  const clients = await Promise.all(Array.from({ length: 10 }, () => connectClient(t, cluster.url)))
  const text = await cluster.metrics()
  const value = Number(/^inkcast_connections\{.*transport="websocket".*\} (\d+)$/m.exec(text)?.[1])
  assert.ok(value >= clients.length, text.split('\n').filter((line) => line.startsWith('inkcast_connections')).join())
  const body = /** @type {any} */ (await (await fetch(`${cluster.adminUrl}/ready`)).json())
  assert.deepEqual(
    body.processes.map((/** @type {any} */ { name }) => name).sort(),
    ['api-0', 'gateway-0', 'gateway-1', 'ingest-0', 'launcher'].sort()
  )
})
