import { arriving, batchRead, logging, publishing, receiptOpened, sending } from '../metrics/points.js'

/**
 * The stages of traced records at the points of their way. Records of a batch that is given up are read again, and
 * traced again.
 *
 * @typedef {import('../metrics/points.js').Handlers} Handlers
 *
 * @param {(name: any, traced: import('./stage.js').Traced, attributes?: import('@opentelemetry/api').Attributes) =>
 *   import('./stage.js').Stage | undefined} begin
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now'>} clock
 * @returns {Handlers}
 */
export function stagesAt (begin, clock) {
  /** @type {(step: import('node:diagnostics_channel').TracingChannel, name: string) => Handlers} */
  const ofStep = (step, name) => [
    [step.start, (call) => {
      call.stages = []
      call.records = call.records.map((/** @type {any} */ record) => {
        const stage = begin(name, record.publication ?? record)
        call.stages.push(stage)
        return withParent(record, stage)
      })
    }],
    [step.asyncEnd, ({ stages = [], result = [], error }) => {
      for (const [i, stage] of stages.entries()) {
        const { error: own = error, position, duplicate } = result[i] ?? {}
        if (own === undefined) stage?.end({ ...position, duplicate })
        else stage?.fail(own)
      }
    }]
  ]
  return [
    ...ofStep(publishing, 'publish'),
    ...ofStep(logging, 'log'),
    ...ofStep(sending, 'doc:send'),
    [batchRead, ({ lanes, topic, partition }) => {
      for (const lane of lanes.values()) {
        for (const routed of lane) {
          const { publication, origin } = routed.entry
          // https://opentelemetry.io/docs/specs/semconv/messaging/kafka/
          routed.stage = begin('ingest', publication, {
            'messaging.system': 'kafka',
            'messaging.operation.type': 'process',
            'messaging.destination.name': topic,
            'messaging.destination.partition.id': String(partition),
            ...(origin && { 'messaging.kafka.offset': origin.sequence })
          })
          routed.entry = withParent(routed.entry, routed.stage)
        }
      }
    }],
    [arriving.start, (arrival) => {
      const { publication, tally: { json, msgpack, bytes } } = arrival
      arrival.stage = begin('deliver', publication)
      arrival.before = { clients: json + msgpack, bytes, age: Math.max(0, clock.now() - publication.timestamp) }
    }],
    // until what it has queued is written: at the end of the turn
    [arriving.end, ({ stage, before, epoch, offset, tally, turnWrites }) => {
      if (stage === undefined) return
      const clients = tally.json + tally.msgpack - before.clients
      const bytes = tally.bytes - before.bytes
      turnWrites.afterFlush(() => stage.end({ epoch, offset, age: before.age, clients, bytes }))
    }],
    [receiptOpened, ({ receipt, publication }) => {
      receipt.stage = begin(receipt.sampled ? 'sample' : 'receipt', publication)
    }]
  ]
}

/**
 * @param {any} record a publication, or an entry with one
 * @param {import('./stage.js').Stage} [stage] undefined: the record is not traced
 * @returns {any} with the stage as the parent of those that follow
 */
function withParent (record, stage) {
  if (stage === undefined) return record
  const { traceparent } = stage
  if (record.publication === undefined) return { ...record, traceparent }
  return { ...record, publication: { ...record.publication, traceparent } }
}
