/**
 * Sends the traces of inkcast to a collector that speaks OTLP (Jaeger, Tempo, the OpenTelemetry Collector …). inkcast
 * records nothing without such a file, which every process of it loads:
 *
 *   npm install @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/exporter-trace-otlp-http
 *   NODE_OPTIONS='--import ./examples/tracing/tracing.js' npm start
 *
 * OTEL_EXPORTER_OTLP_ENDPOINT is the collector, by default http://localhost:4318. TRACE_RATIO is the share of records
 * without a `traceparent` that are traced; those with one are traced if it says so.
 */
import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, ParentBasedSampler, TracerProvider, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'

const { OTEL_SERVICE_NAME = 'inkcast', TRACE_RATIO = '0.01' } = process.env

trace.setGlobalTracerProvider(new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': OTEL_SERVICE_NAME, 'process.pid': process.pid }),
  sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(Number(TRACE_RATIO)) }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })]
}))
