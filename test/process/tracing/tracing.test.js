import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { parseTraceparent } from '../../../src/wire/traceparent.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
afterEach(() => exporter.reset())

const newTraceparent = () => `00-${randomUUID().replaceAll('-', '')}-${'1'.repeat(16)}-01`

/** @param {string} name @param {string} traceId @returns {Promise<import('@opentelemetry/sdk-trace').ReadableSpan>} */
async function spanOf (name, traceId) {
  const found = () => exporter.getFinishedSpans().find((span) =>
    span.name === `inkcast ${name}` && span.spanContext().traceId === traceId)
  await waitFor(() => found() !== undefined, {
    message: () => `a span "${name}": ${exporter.getFinishedSpans().map((span) => span.name)}`
  })
  return /** @type {any} */ (found())
}

test('a traceparent goes from the publisher through all stages to the clients, also to later ones', async (t) => {
  const server = await startEmbedded(t)
  const guid = randomUUID()
  const clients = [await connectClient(t, server.url), await connectClient(t, server.url)]
  await Promise.all(clients.map((client) => client.ask('doc:join', { guid })))
  const traceparent = newTraceparent()
  const traceId = /** @type {string} */ (parseTraceparent(traceparent)?.traceId)
  const arrived = clients[0].next('edit')
  await server.post(`/v1/documents/${guid}/broadcast`, { cell: 'A1' }, { 'x-event': 'edit', traceparent })
  const [, meta] = await arrived
  assert.equal(meta.traceId, traceId)

  const publish = await spanOf('publish', traceId)
  const log = await spanOf('log', traceId)
  const deliver = await spanOf('deliver', traceId)
  assert.equal(publish.parentSpanContext?.spanId, '1'.repeat(16))
  assert.equal(log.parentSpanContext?.spanId, publish.spanContext().spanId)
  assert.equal(deliver.parentSpanContext?.spanId, log.spanContext().spanId)
  assert.deepEqual([log.attributes['inkcast.offset'], deliver.attributes['inkcast.offset']], [1, 1])
  assert.equal(deliver.attributes['inkcast.clients'], 2)
  assert.ok(Number(deliver.attributes['inkcast.bytes']) > 0)
  assert.deepEqual(parseTraceparent(meta.traceparent), { traceId, spanId: log.spanContext().spanId, sampled: true })

  const late = await connectClient(t, server.url)
  const replayed = late.next('edit')
  await late.ask('doc:join', { guid, position: { epoch: log.attributes['inkcast.epoch'], offset: 0 } })
  assert.equal((await replayed)[1].traceparent, meta.traceparent)
})

test('a client\'s traceparent goes with its message', async (t) => {
  const server = await startEmbedded(t)
  const guid = randomUUID()
  const [sender, receiver] = [await connectClient(t, server.url), await connectClient(t, server.url)]
  await Promise.all([sender, receiver].map((client) => client.ask('doc:join', { guid })))
  const traceparent = newTraceparent()
  const traceId = /** @type {string} */ (parseTraceparent(traceparent)?.traceId)
  const arrived = receiver.next('message')
  const answer = await sender.ask('doc:send', { guid, data: 'hello', traceparent })
  assert.deepEqual(answer, { ok: true, traceId })
  const [, meta] = await arrived
  const send = await spanOf('doc:send', traceId)
  const log = await spanOf('log', traceId)
  assert.equal(send.parentSpanContext?.spanId, '1'.repeat(16))
  assert.equal(log.parentSpanContext?.spanId, send.spanContext().spanId)
  assert.equal(parseTraceparent(meta.traceparent)?.spanId, log.spanContext().spanId)
})

test('a traceparent that is none is ignored, and the sampler decides', async (t) => {
  const server = await startEmbedded(t)
  const guid = randomUUID()
  const client = await connectClient(t, server.url)
  await client.ask('doc:join', { guid })
  assert.equal((await client.ask('doc:send', { guid, data: 1, traceparent: '00-0-0-01' })).ok, true)
  const [send] = exporter.getFinishedSpans().filter(({ name }) => name === 'inkcast doc:send')
  assert.equal(send.parentSpanContext, undefined)
})

test('a receipt is a span with its acknowledgements', async (t) => {
  const server = await startEmbedded(t)
  const guid = randomUUID()
  const client = await connectClient(t, server.url)
  client.on('message', (payload, meta, acknowledge) => acknowledge?.())
  await client.ask('doc:join', { guid })
  const traceparent = newTraceparent()
  await server.post(`/v1/documents/${guid}/broadcast`, 1, { 'x-receipt': 'true', traceparent })
  const receipt = await spanOf('receipt', /** @type {string} */ (parseTraceparent(traceparent)?.traceId))
  assert.deepEqual([receipt.attributes['inkcast.asked'], receipt.attributes['inkcast.acknowledged']], [1, 1])
})

test('each publication of a batch has spans of its own', async (t) => {
  const server = await startEmbedded(t)
  const guid = randomUUID()
  const batch = { publications: [{ guid, value: 1 }, { guid, value: 2, traceparent: newTraceparent() }] }
  const { body } = await server.post('/v1/publish', batch)
  assert.deepEqual(body.results.map((/** @type {any} */ { ok }) => ok), [true, true])
  const names = exporter.getFinishedSpans().map(({ name }) => name).sort()
  assert.deepEqual(names, ['inkcast log', 'inkcast log', 'inkcast publish', 'inkcast publish'])
})
