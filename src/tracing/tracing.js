import { isSpanContextValid, ROOT_CONTEXT, SpanKind, trace, TraceFlags } from '@opentelemetry/api'
import { systemClock } from '../common/clock.js'
import { parseTraceparent } from '../wire/traceparent.js'
import { Stage } from './stage.js'

/**
 * Traces of records: a span for each stage in this process, through the api of OpenTelemetry. Nothing is recorded
 * unless the user has loaded an SDK, whose sampler decides about records without a `traceparent`; those with one are
 * traced if it says `sampled`. Without an SDK, stages of the latter are lines in the log at `debug`.
 *
 * Hot paths read `active` and call nothing while it is false.
 *
 * @typedef {import('./stage.js').Traced} Traced
 */

const SECOND = 1000
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
  'doc:send': { kind: SpanKind.SERVER, begins: true }
})

export class Tracing {
  #tracer
  #recorded
  #perSecond
  #metrics
  #log
  #clock
  #second = -Infinity
  #begun = 0

  /**
   * @param {object} dependencies
   * @param {number} [dependencies.perSecond] default: STAGES_PER_SECOND
   * @param {Pick<import('../metrics/metrics.js').Metrics, 'trace_stages'>} dependencies.metrics
   * @param {import('../common/log.js').Log} dependencies.log
   * @param {Pick<import('../common/clock.js').Clock, 'monotonic'>} dependencies.clock
   * @param {import('@opentelemetry/api').Tracer} [dependencies.tracer] default: that of the SDK in this process
   */
  constructor ({ perSecond = STAGES_PER_SECOND, metrics, log, clock, tracer = trace.getTracer('inkcast') }) {
    this.#tracer = tracer
    // without an SDK spans have no ids
    this.#recorded = isSpanContextValid(tracer.startSpan('inkcast', { root: true }).spanContext())
    this.#perSecond = perSecond
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
  }

  /** Whether a record could be traced. */
  get active () { return this.#recorded || this.#log.isLevelEnabled('debug') }

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
    if (!this.#hasRoom()) {
      this.#metrics.trace_stages.count(name, 'left_out')
      return undefined
    }
    const span = this.#recorded
      ? this.#tracer.startSpan(`inkcast ${name}`, { kind, attributes }, parent === null ? ROOT_CONTEXT : contextOf(parent))
      : undefined
    // the sampler refuses it
    if (span?.isRecording() === false) return undefined
    this.#begun++
    this.#metrics.trace_stages.count(name, 'traced')
    return new Stage({ name, traced, span, log: this.#log, clock: this.#clock })
  }

  #hasRoom () {
    const now = this.#clock.monotonic()
    if (now - this.#second >= SECOND) {
      this.#second = now
      this.#begun = 0
    }
    return this.#begun < this.#perSecond
  }
}

/** @param {{ traceId: string, spanId: string }} parent */
const contextOf = ({ traceId, spanId }) =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })

/**
 * Sends the spans that wait, at the end of the process.
 * @param {Pick<import('../common/clock.js').Clock, 'sleep'>} [clock]
 * @returns {Promise<void>} resolves also if that fails, and after 2 s
 */
export async function flushTraces (clock = systemClock) {
  /** @type {any} an SDK's provider, behind the api's */
  const provider = trace.getTracerProvider()
  const flushed = (provider.getDelegate?.() ?? provider).forceFlush?.().catch(() => {})
  const ended = new AbortController()
  if (flushed !== undefined) await Promise.race([flushed, clock.sleep(FLUSH_TIMEOUT, ended.signal).catch(() => {})])
  ended.abort()
}

/** For parts of a process without traces. @type {Tracing} */
export const NO_TRACING = /** @type {any} */ (Object.freeze({ active: false }))
