import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { startCollector } from '../helpers/collector.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

const EXAMPLE = fileURLToPath(new URL('../../examples/tracing/tracing.js', import.meta.url))

test('the spans of a record come from api, ingest and each worker, and the last ones at the end of the processes', { timeout: 120_000 }, async (t) => {
  const { url, spans } = await startCollector(t)
  const cluster = await startCluster(t, {
    WORKERS: '2',
    REDIS_URL: await ownRedisUrl(t),
    ...freshTopics(t).env,
    NODE_OPTIONS: `--import ${EXAMPLE}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    // the processes send them when they stop
    OTEL_BSP_SCHEDULE_DELAY: '600000',
    TRACE_RATIO: '0'
  })
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
