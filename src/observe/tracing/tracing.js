import { createRequire } from 'node:module'
import { TokenBucket } from '../../base/common/token-bucket.js'
import { observe } from '../metrics/points.js'
import { parseTraceparent } from '../../wire/traceparent.js'
import { Stage } from './stage.js'
import { stagesAt } from './stages.js'

const require = createRequire(import.meta.url)
const { isSpanContextValid, ROOT_CONTEXT, SpanKind, trace, TraceFlags } = require('@opentelemetry/api')

/**
 * Traces of records: a span for each stage in this process, through the api of OpenTelemetry. Nothing is recorded
 * unless the user has loaded an SDK, whose sampler decides about records without a `traceparent`; those with one are
 * traced if it says `sampled`. Without an SDK, stages of the latter are lines in the log at `debug`.
 *
 * It observes the points of a record's way (observe/metrics/points.js) while a record could be traced.
 *
 * @typedef {import('./stage.js').Traced} Traced
 */

/**
 * Clients may set `sampled` as well: a bound for what they can ask for. 100 traced records per second take 2 % of a
 * gateway worker that delivers 20,000 frames (docs/tracing.md). Which records are traced is for the SDK's sampler.
 */
const STAGES_PER_SECOND = 100
/** Wait for a collector at the end of the process, ms. */
const FLUSH_TIMEOUT = 2000

/** Stages by name; those with `begins` also trace records without a `traceparent`. */
const STAGES = Object.freeze({
  publish: { kind: SpanKind.PRODUCER, begins: true },
  ingest: { kind: SpanKind.CONSUMER, begins: true },
  log: { kind: SpanKind.CLIENT, begins: false },
  deliver: { kind: SpanKind.CONSUMER, begins: false },
  receipt: { kind: SpanKind.INTERNAL, begins: false },
  sample: { kind: SpanKind.INTERNAL, begins: true },
  'doc:send': { kind: SpanKind.SERVER, begins: true }
})

export class Tracing {
  #tracer
  #recorded
  #bucket
  #metrics
  #log
  #clock
  /** @type {(() => void) | undefined} */
  #unobserve

  /**
   * @param {object} dependencies
   * @param {number} [dependencies.perSecond] default: STAGES_PER_SECOND
   * @param {Pick<import('../metrics/metrics.js').Metrics, 'trace_stages'>} dependencies.metrics of its instance
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'monotonic' | 'sleep'>} dependencies.clock
   * @param {import('@opentelemetry/api').Tracer} [dependencies.tracer] default: that of the SDK in this process
   */
  constructor ({ perSecond = STAGES_PER_SECOND, metrics, log, clock, tracer = trace.getTracer('inkcast') }) {
    this.#tracer = tracer
    // without an SDK spans have no ids
    this.#recorded = isSpanContextValid(tracer.startSpan('inkcast', { root: true }).spanContext())
    this.#bucket = new TokenBucket({ perSecond, burst: perSecond }, clock.monotonic())
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
  }

  /** Whether a record could be traced. */
  get active () { return this.#recorded || this.#log.isLevelEnabled('debug') }

  start () {
    this.#log.on('level-change', this.#update)
    this.#update()
  }

  /** Sends the spans that wait. @returns {Promise<void>} resolves also if that fails, and after 2 s */
  async stop () {
    this.#log.off('level-change', this.#update)
    this.#unobserve?.()
    /** @type {any} an SDK's provider, behind the api's */
    const provider = trace.getTracerProvider()
    const flushed = (provider.getDelegate?.() ?? provider).forceFlush?.().catch(() => {})
    const ended = new AbortController()
    if (flushed !== undefined)
      await Promise.race([flushed, this.#clock.sleep(FLUSH_TIMEOUT, ended.signal).catch(() => {})])
    ended.abort()
  }

  #update = () => {
    if (!this.active) {
      this.#unobserve?.()
      this.#unobserve = undefined
    } else this.#unobserve ??= observe(this.#metrics, stagesAt(this.begin.bind(this), this.#clock), this.#log)
  }

  /**
   * @param {keyof typeof STAGES} name
   * @param {Traced} traced
   * @param {import('@opentelemetry/api').Attributes} [attributes] of the span alone
   * @returns {Stage | undefined} undefined: the record is not traced
   */
  begin (name, traced, attributes) {
    const { kind, begins } = STAGES[name]
    const parent = parseTraceparent(traced.traceparent)
    if (parent === null ? !begins || !this.#recorded : !parent.sampled) return undefined
    if (this.#bucket.refill(this.#clock.monotonic()) < 1) {
      this.#metrics.trace_stages.count(name, 'left_out')
      return undefined
    }
    const span = this.#recorded
      ? this.#tracer.startSpan(`inkcast ${name}`, { kind, attributes }, parent === null ? ROOT_CONTEXT : contextOf(parent))
      : undefined
    // the sampler refuses it
    if (span?.isRecording() === false) return undefined
    this.#bucket.take(this.#clock.monotonic())
    this.#metrics.trace_stages.count(name, 'traced')
    return new Stage({ name, traced, span, log: this.#log, clock: this.#clock })
  }
}

/** @param {{ traceId: string, spanId: string }} parent */
const contextOf = ({ traceId, spanId }) =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
