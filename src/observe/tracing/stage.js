import { createRequire } from 'node:module'
import { publicError } from '../../base/common/errors.js'
import { formatTraceparent } from '../../wire/traceparent.js'

const require = createRequire(import.meta.url)
const { SpanStatusCode } = require('@opentelemetry/api')

/**
 * What is traced: a publication, or a client's message. No value and no user: exporters keep traces elsewhere.
 * @typedef {object} Traced
 * @property {string} traceId
 * @property {string} [traceparent]
 * @property {string} [operator]
 * @property {string} [guid]
 * @property {string} [event]
 *
 * @typedef {Record<string, string | number | boolean | undefined>} Details of a stage: attributes `inkcast.…` of its
 *   span, and fields of its line in the log
 */

/** One stage of a traced record in this process: a span, and a line in the log at `debug`. */
export class Stage {
  /**
   * @param {object} options
   * @param {string} options.name
   * @param {Traced} options.traced
   * @param {import('@opentelemetry/api').Span} [options.span] that records; absent: there is no SDK
   * @param {import('../../base/common/log.js').Log} options.log
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} options.clock
   */
  constructor ({ name, traced, span, log, clock }) {
    this.name = name
    this.traced = traced
    this.span = span
    this.log = log
    this.clock = clock
    this.startedAt = clock.monotonic()
    /** The parent of the stages that follow. */
    this.traceparent = span === undefined ? traced.traceparent : formatTraceparent(span.spanContext())
  }

  /** @param {Details} [details] */
  end (details = {}) {
    const { traceId, operator, guid, event } = this.traced
    if (this.span !== undefined) {
      const attributes = { trace_id: traceId, operator, guid, event, ...details }
      for (const [name, value] of Object.entries(attributes))
        if (value !== undefined) this.span.setAttribute(`inkcast.${name}`, value)
      this.span.end()
    }
    if (!this.log.isLevelEnabled('debug')) return
    const ms = Math.round((this.clock.monotonic() - this.startedAt) * 100) / 100
    this.log.debug({ stage: this.name, traceId, operator, guid, event, ms, ...details }, 'stage of a traced record')
  }

  /** @param {unknown} error @param {Details} [details] */
  fail (error, details) {
    const { code } = publicError(error)
    this.span?.setStatus({ code: SpanStatusCode.ERROR, message: code }).setAttribute('error.type', code)
    this.end({ ...details, error: code })
  }
}
