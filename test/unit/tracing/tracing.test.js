import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProxyTracerProvider } from '@opentelemetry/api'
import {
  AlwaysOffSampler, AlwaysOnSampler, InMemorySpanExporter, ParentBasedSampler, SimpleSpanProcessor, TracerProvider
} from '@opentelemetry/sdk-trace'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { Tracing } from '../../../src/observe/tracing/tracing.js'
import { parseTraceparent } from '../../../src/wire/traceparent.js'
import { manualClock } from '../../helpers/manual-clock.js'

const TRACE = 'a'.repeat(32)
const PARENT = 'b'.repeat(16)
const SAMPLED = `00-${TRACE}-${PARENT}-01`
const NOT_SAMPLED = `00-${TRACE}-${PARENT}-00`
const record = (/** @type {object} */ fields = {}) =>
  ({ traceId: 'a trace of inkcast', operator: 'broadcast', guid: 'minutes', event: 'edit', ...fields })

/**
 * @param {{ root?: import('@opentelemetry/sdk-trace').Sampler, sdk?: boolean, debug?: boolean, perSecond?: number }}
 *   [options]
 */
function setUp ({ root = new AlwaysOnSampler(), sdk = true, debug = false, perSecond = 100 } = {}) {
  const exporter = new InMemorySpanExporter()
  const provider = sdk
    ? new TracerProvider({
        sampler: new ParentBasedSampler({ root }), spanProcessors: [new SimpleSpanProcessor({ exporter })]
      })
    : new ProxyTracerProvider()
  /** @type {any[]} */
  const lines = []
  const clock = manualClock()
  const metrics = createMetrics({ processMetrics: false })
  const tracing = new Tracing({
    perSecond,
    metrics,
    log: /** @type {any} */ ({ isLevelEnabled: () => debug, debug: (/** @type {any} */ line) => lines.push(line) }),
    clock,
    tracer: provider.getTracer('test')
  })
  const counted = async () => (await metrics.trace_stages.get()).values
    .map(({ labels, value }) => `${labels.stage} ${labels.result} ${value}`)
  return { tracing, clock, lines, counted, spans: () => exporter.getFinishedSpans() }
}

test('a stage of a sampled record is a span of its trace, and the parent of the stages that follow', () => {
  const { tracing, spans } = setUp()
  const stage = tracing.begin('log', record({ traceparent: SAMPLED }))
  assert.ok(stage !== undefined)
  stage.end({ epoch: 'e', offset: 7, duplicate: undefined })
  tracing.begin('deliver', record({ traceparent: stage.traceparent }))?.end({ clients: 3 })
  const [log, deliver] = spans()
  assert.equal(log.name, 'inkcast log')
  assert.deepEqual([log.spanContext().traceId, log.parentSpanContext?.spanId], [TRACE, PARENT])
  assert.deepEqual({ ...log.attributes }, {
    'inkcast.trace_id': 'a trace of inkcast',
    'inkcast.operator': 'broadcast',
    'inkcast.guid': 'minutes',
    'inkcast.event': 'edit',
    'inkcast.epoch': 'e',
    'inkcast.offset': 7
  })
  const { spanId } = log.spanContext()
  assert.deepEqual(parseTraceparent(stage.traceparent), { traceId: TRACE, spanId, sampled: true })
  assert.equal(deliver.parentSpanContext?.spanId, log.spanContext().spanId)
  assert.equal(deliver.attributes['inkcast.clients'], 3)
})

test('a record whose traceparent is not sampled is not traced', () => {
  const { tracing } = setUp()
  assert.equal(tracing.begin('publish', record({ traceparent: NOT_SAMPLED })), undefined)
})

test('of records without a traceparent the sampler decides, where a record comes in', () => {
  const all = setUp()
  const stage = all.tracing.begin('publish', record())
  stage?.end()
  assert.equal(all.spans()[0].parentSpanContext, undefined)
  assert.notEqual(parseTraceparent(stage?.traceparent), null)
  assert.equal(all.tracing.begin('deliver', record()), undefined, 'no trace begins within')
  const none = setUp({ root: new AlwaysOffSampler() })
  assert.equal(none.tracing.begin('publish', record()), undefined)
  assert.notEqual(none.tracing.begin('publish', record({ traceparent: SAMPLED })), undefined)
})

test('above the limit of a second stages are left out, and counted', async () => {
  const { tracing, clock, counted } = setUp({ perSecond: 2 })
  const begin = () => tracing.begin('log', record({ traceparent: SAMPLED }))
  assert.deepEqual([begin(), begin(), begin(), begin()].map((stage) => stage !== undefined), [true, true, false, false])
  await clock.advance(1000)
  assert.notEqual(begin(), undefined)
  assert.deepEqual(await counted(), ['log traced 3', 'log left_out 2'])
})

test('records that the sampler refuses do not use up the limit', () => {
  const { tracing } = setUp({ root: new AlwaysOffSampler(), perSecond: 1 })
  for (let i = 0; i < 5; i++) tracing.begin('publish', record())
  assert.notEqual(tracing.begin('publish', record({ traceparent: SAMPLED })), undefined)
})

test('a stage that fails says so', () => {
  const { tracing, spans } = setUp()
  tracing.begin('publish', record())?.fail(new InkcastError('unavailable'))
  const [{ status, attributes }] = spans()
  assert.deepEqual([status.code, attributes['error.type']], [2, 'unavailable'])
})

test('without an SDK nothing is traced, but at debug sampled records have a line for each stage', async () => {
  assert.equal(setUp({ sdk: false }).tracing.active, false)
  const { tracing, clock, lines } = setUp({ sdk: false, debug: true })
  assert.equal(tracing.active, true)
  assert.equal(tracing.begin('publish', record()), undefined)
  const stage = tracing.begin('log', record({ traceparent: SAMPLED }))
  assert.equal(stage?.traceparent, SAMPLED, 'as it came')
  await clock.advance(12)
  stage?.end({ offset: 7 })
  assert.deepEqual(lines, [{
    stage: 'log', traceId: 'a trace of inkcast', operator: 'broadcast', guid: 'minutes', event: 'edit', ms: 12, offset: 7
  }])
})
