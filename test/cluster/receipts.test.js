import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

/**
 * Receipts through Kafka and two workers: one summary for each record, and correct totals.
 */
const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
const TIMEOUT = 5000
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
/** @type {Awaited<ReturnType<typeof topics.collect>>} */
let uplink
before(async () => {
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, RECEIPT_TIMEOUT: String(TIMEOUT), PRESENCE_GRACE: '1000', ...topics.env })
  uplink = await topics.collect(topics.uplink)
}, { timeout: 90_000 })

/** @param {string} prefix of the trace ids */
const summaries = (prefix) =>
  uplink
    .filter(({ headers }) => headers['x-operator'] === 'receipt' && headers['x-trace-id'].startsWith(prefix))
    .map(({ key, headers, value }) => ({ key, headers, summary: JSON.parse(String(value)) }))
/** @param {string | undefined} sid */
const workerOf = (sid) => String(sid).slice(0, 2)

/**
 * Members of a document, on both workers.
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 * @param {number} least
 * @param {boolean} [polling] include polling clients, which also disconnect when a worker dies that only forwards their
 *   requests. Default true
 */
async function members (t, guid, least, polling = true) {
  /** @type {Awaited<ReturnType<typeof connectClient>>[]} */
  const clients = []
  for (let i = 0; i < least || new Set(clients.map(({ id }) => workerOf(id))).size < 2; i++) {
    assert.ok(i < 200, 'one worker gets all connections')
    const client = await connectClient(t, cluster.url, {
      codec: i % 2 ? 'json' : 'msgpack',
      transports: polling && i % 5 === 0 ? ['polling'] : ['websocket']
    })
    assert.equal((await client.ask('doc:join', { guid })).ok, true)
    clients.push(client)
  }
  return clients
}

test(
  'each of 200 records has one summary, and the totals match the clients\' acknowledgements',
  { timeout: 180_000 },
  async (t) => {
    const RECORDS = 200
    const guid = randomUUID()
    const trace = `${randomUUID()}-`
    const clients = await members(t, guid, 20)
    let answered = 0
    for (const [i, client] of clients.entries()) {
      client.on('message', (payload, _meta, acknowledge) => {
        if ((payload.i + i) % 7 === 0) return
        answered++
        acknowledge()
      })
    }
    const producer = await topics.producer()
    await producer.send({
      topic: topics.downlink,
      messages: Array.from({ length: RECORDS }, (_, i) => ({
        key: guid,
        headers: { 'x-operator': 'broadcast', 'x-guid': guid, 'x-receipt': 'true', 'x-trace-id': trace + i },
        value: JSON.stringify({ i })
      }))
    })
    await waitFor(() => summaries(trace).length >= RECORDS, { timeout: 20_000, message: () => summaries(trace).length })
    const told = summaries(trace)
    assert.equal(told.length, RECORDS)
    assert.equal(new Set(told.map(({ headers }) => headers['x-trace-id'])).size, RECORDS)
    for (const { key, headers, summary } of told) {
      const i = Number(headers['x-trace-id'].slice(trace.length))
      const silent = clients
        .filter((_, c) => (i + c) % 7 === 0)
        .map(({ id }) => id)
        .sort()
      assert.deepEqual(
        [key, headers['x-guid'], headers['x-event'], headers['content-type']],
        [guid, guid, 'message', 'application/json']
      )
      assert.equal('x-uid' in headers, false)
      assert.deepEqual(
        [summary.delivered, summary.acknowledged, summary.more, summary.unasked],
        [clients.length, clients.length - silent.length, 0, 0]
      )
      assert.deepEqual(summary.missing.map((/** @type {{ sid: string }} */ { sid }) => sid).sort(), silent)
      assert.ok(summary.p50 <= summary.p99 && summary.p99 <= TIMEOUT * 1.05)
    }
    assert.equal(
      told.reduce((sum, { summary }) => sum + summary.acknowledged, 0),
      answered
    )
  }
)

test('after a worker is killed there is one summary that counts its members', { timeout: 180_000 }, async (t) => {
  const guid = randomUUID()
  const trace = `${randomUUID()}-`
  const clients = await members(t, guid, 8, false)
  const victim = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')
  await cluster.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-receipt': 'true', 'x-trace-id': `${trace}1` })
  await waitFor(() => clients.every(({ received }) => received.length === 1))
  process.kill(/** @type {{ pid: number }} */ (victim).pid, 'SIGKILL')
  await waitFor(() => summaries(trace).length > 0, { timeout: 20_000 })
  const gone = clients.filter(({ connected }) => !connected)
  const [{ summary }] = summaries(trace)
  assert.ok(gone.length > 0 && gone.length < clients.length)
  assert.deepEqual(
    [summary.delivered, summary.acknowledged, summary.missing.length, summary.more],
    [clients.length, 0, clients.length - gone.length, gone.length]
  )
  await waitFor(cluster.ready, { timeout: 20_000 })
})

test('if all connections of a record were on a worker that was killed, its receipt comes nevertheless', { timeout: 120_000 }, async (t) => {
  const clients = await members(t, randomUUID(), 2, false)
  const told = await Promise.all([clients[0], clients.find(({ id }) => workerOf(id) !== workerOf(clients[0].id))].map(
    async (client) => {
      assert.ok(client !== undefined)
      const [trace, guid] = [`${randomUUID()}-`, randomUUID()]
      const uid = await waitFor(
        async () => (await (await fetch(`${cluster.apiUrl}/v1/sockets/${client.id}`)).json()).uid,
        { message: 'the session' }
      )
      assert.equal((await client.ask('doc:join', { guid })).ok, true)
      for (const path of [`documents/${guid}/broadcast`, `users/${uid}/send`, `sockets/${client.id}/send`])
        await cluster.post(`/v1/${path}`, 1, { 'x-receipt': 'true', 'x-trace-id': trace + path[0] })
      await waitFor(() => client.received.length >= 3, { message: () => client.received })
      return { client, trace }
    }
  ))
  const victim = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')
  process.kill(/** @type {{ pid: number }} */ (victim).pid, 'SIGKILL')
  await waitFor(() => told.some(({ client }) => !client.connected), { timeout: 10_000 })
  for (const { trace } of told.filter(({ client }) => !client.connected)) {
    const kinds = () => summaries(trace).map(({ headers }) => headers['x-trace-id'].slice(trace.length))
    await waitFor(() => kinds().length === 3, { timeout: 20_000, message: kinds })
    assert.deepEqual(kinds().sort(), ['d', 's', 'u'])
    for (const { summary } of summaries(trace))
      assert.deepEqual([summary.delivered, summary.acknowledged, summary.more], [1, 0, 1])
  }
})
