import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../helpers/cluster.js'
import { connectClient, connectToWorkers } from '../helpers/clients.js'
import { startCollector } from '../helpers/collector.js'
import { startDocumentService } from '../helpers/document-service.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { SECRET } from '../helpers/webhook-service.js'
import { freePort } from '../services/ports.js'

/** The services of the examples, as programs of their own, and the traces of a whole cluster. */

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const TRACING = fileURLToPath(new URL('../../examples/tracing/tracing.js', import.meta.url))

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */
/** @typedef {Awaited<ReturnType<typeof startDocumentService>>} Service */

/** @param {{ received: { event: string, payload: any, meta: any }[] }} client */
const changesOf = ({ received }) =>
  received.filter(({ event }) => event === 'sheet:changes').flatMap(({ payload }) => payload.changes)

/** Loads a document as the page does. @param {{ url: string }} cluster @param {string} guid @returns {Promise<any>} */
const load = async (cluster, guid) => (await fetch(`${cluster.url}/documents/${guid}`)).json()

/**
 * A client's operation is checked, stored and published; a later client loads it and continues from there.
 * @param {import('node:test').TestContext} t
 * @param {Cluster | Awaited<ReturnType<typeof startEmbedded>>} cluster
 * @param {Service} service
 */
async function serviceWorks (t, cluster, service) {
  const guid = `plan-${randomUUID()}`
  const [ada, grace] = await Promise.all([0, 1].map(() => connectClient(t, cluster.url)))
  for (const client of [ada, grace]) assert.equal((await client.ask('doc:join', { guid })).ok, true)

  const edit = (/** @type {string} */ id, /** @type {object} */ cells) =>
    ada.ask('doc:send', { guid, event: 'sheet:edit', data: { id, cells } })
  const { traceId } = await edit('ada:1', { A2: 'Bake the cake' })
  await edit('ada:2', { Z9: 'nowhere' })
  await grace.ask('doc:send', {
    guid, event: 'sheet:comment',
    data: { id: 'grace:1', text: 'with nuts?', name: 'Grace', color: '#1d3557', cell: 'A2' }
  })
  for (const client of [ada, grace]) {
    await waitFor(() => changesOf(client).length >= 2, {
      timeout: 20_000, message: () => ({ received: client.received, service: service.output() })
    })
    assert.deepEqual(changesOf(client).map(({ version, id }) => [version, id]), [[1, 'ada:1'], [2, 'grace:1']])
    assert.equal(changesOf(client)[0].traceId, traceId)
  }
  const refused = await waitFor(() => ada.received.find(({ event }) => event === 'sheet:refused'), { timeout: 20_000 })
  assert.deepEqual([refused?.payload.id, refused?.payload.code], ['ada:2', 'no_such_cell'])
  assert.equal(grace.received.some(({ event }) => event === 'sheet:refused'), false)

  const { document, position } = await load(cluster, guid)
  assert.deepEqual(
    [document.version, document.cells.A2, document.comments[0].text], [2, 'Bake the cake', 'with nuts?'])
  await grace.ask('doc:send', { guid, event: 'sheet:resolve', data: { id: 'grace:2', comment: 'grace:1' } })
  await waitFor(() => changesOf(ada).length === 3, { timeout: 20_000 })
  const late = await connectClient(t, cluster.url)
  assert.equal((await late.ask('doc:join', { guid, position })).recovered, true)
  await waitFor(() => changesOf(late).length > 0)
  assert.deepEqual(changesOf(late).map(({ version, resolved }) => [version, resolved]), [[3, 'grace:1']])
}

describe('services over Kafka', () => {
  const topics = freshTopics(scope)
  /** @type {Cluster} */
  let cluster
  /** @type {Service} */
  let service
  /** @type {Awaited<ReturnType<typeof startCollector>>} */
  let collector
  before(async () => {
    const port = await freePort()
    collector = await startCollector(scope)
    cluster = await startCluster(scope, {
      WORKERS: '2',
      REDIS_URL,
      EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
      NODE_OPTIONS: `--import ${TRACING}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      // the processes send them when they stop
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      TRACE_RATIO: '0',
      ...topics.env
    })
    service = await startDocumentService(scope, { port, apiUrl: cluster.apiUrl, kafka: topics.env })
  }, { timeout: 90_000 })

  test('an operation is checked, stored and published, and a later client continues from it', { timeout: 180_000 }, (t) =>
    serviceWorks(t, cluster, service))

  test('a killed service loses no operation and publishes none twice', { timeout: 180_000 }, async (t) => {
    const guid = `killed-${randomUUID()}`
    const edits = 45
    const client = await connectClient(t, cluster.url)
    assert.equal((await client.ask('doc:join', { guid })).ok, true)
    for (let i = 1; i <= edits; i++) {
      const data = { id: `ada:${i}`, cells: { A2: String(i) } }
      assert.equal((await client.ask('doc:send', { guid, event: 'sheet:edit', data })).ok, true)
      if (i === 10) await waitFor(() => changesOf(client).length > 0, { timeout: 20_000 })
      if (i === 20) await service.stop('SIGKILL')
      if (i === 30) await service.start()
    }
    await waitFor(() => changesOf(client).length >= edits, {
      timeout: 60_000, message: () => ({ changes: changesOf(client).length, service: service.output() })
    })
    assert.deepEqual(
      changesOf(client).map(({ version, id }) => [version, id]),
      Array.from({ length: edits }, (_, i) => [i + 1, `ada:${i + 1}`]))
    assert.equal((await load(cluster, guid)).document.cells.A2, String(edits))
  })

  // last: the cluster ends
  test('the spans of a record come from api, ingest and each worker, and the last ones at the end of the processes', {
    timeout: 120_000
  }, async (t) => {
    await waitFor(cluster.ready, { timeout: 30_000 })
    const { spans } = collector
    const guid = randomUUID()
    const clients = await connectToWorkers(t, cluster.url, 2, 4)
    await Promise.all(clients.map((client) => client.ask('doc:join', { guid })))
    const traceId = randomUUID().replaceAll('-', '')
    const arrived = Promise.all(clients.map((client) => client.next('message')))
    await cluster.post(`/v1/documents/${guid}/broadcast`, 1)
    await arrived
    const traced = Promise.all(clients.map((client) => client.next('message')))
    await cluster.post(`/v1/documents/${guid}/broadcast`, 2, { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` })
    const [[, meta]] = await traced
    assert.equal(meta.traceparent.slice(3, 35), traceId)
    await cluster.stop()

    const names = () => spans.map(({ name }) => name.replace('inkcast ', '')).sort()
    const expected = ['deliver', 'deliver', 'ingest', 'log', 'publish']
    await waitFor(() => spans.length >= expected.length, { message: () => String(names()) })
    assert.deepEqual(names(), expected, 'and none of the record that is not traced')
    assert.deepEqual([...new Set(spans.map((span) => span.traceId))], [traceId])
    const of = (/** @type {string} */ stage) => spans.filter(({ name }) => name === `inkcast ${stage}`)
    const [[publish], [ingest], [log]] = [of('publish'), of('ingest'), of('log')]
    assert.deepEqual(
      [publish.parentSpanId, ingest.parentSpanId, log.parentSpanId, ...of('deliver').map((span) => span.parentSpanId)],
      ['1'.repeat(16), publish.spanId, ingest.spanId, log.spanId, log.spanId]
    )
    assert.equal(meta.traceparent.slice(36, 52), log.spanId)
    assert.equal(ingest.attributes['messaging.system'], 'kafka')
    assert.equal(of('deliver').reduce((sum, { attributes }) => sum + attributes['inkcast.clients'], 0), clients.length)
    assert.equal(new Set(of('deliver').map(({ pid }) => pid)).size, 2)
    assert.equal(publish.service, 'inkcast')
  })
})

test('a document service works over a webhook', { timeout: 120_000 }, async (t) => {
  const [port, receiver] = [await freePort(), await freePort()]
  const inkcast = await startEmbedded(t, {
    EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
    UPLINK_URL: `http://127.0.0.1:${receiver}`,
    UPLINK_SECRETS: SECRET
  })
  const service = await startDocumentService(t, {
    port, apiUrl: inkcast.apiUrl, webhook: { port: receiver, secret: SECRET }
  })
  await serviceWorks(t, inkcast, service)
})
