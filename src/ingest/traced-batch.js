/** @typedef {import('../tracing/stage.js').Stage} Stage */

/** Of a batch without traced records. @type {ReadonlyMap<number, Stage>} */
export const NO_STAGES = new Map()

/**
 * Begins a stage for each traced record of a batch, which is the parent of what follows. Records of a batch that is
 * given up are read again, and traced again.
 *
 * @param {Map<string, import('./router.js').Routed[]>} lanes the publications of traced records are replaced
 * @param {{ topic: string, partition: number, tracing: import('../tracing/tracing.js').Tracing }} options
 * @returns {Map<number, Stage>} by their place in the batch
 */
export function traceBatch (lanes, { topic, partition, tracing }) {
  /** @type {Map<number, Stage>} */
  const stages = new Map()
  for (const lane of lanes.values()) {
    for (const routed of lane) {
      const { publication, origin } = routed.entry
      // https://opentelemetry.io/docs/specs/semconv/messaging/kafka/
      const stage = tracing.begin('ingest', publication, {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(partition),
        ...(origin && { 'messaging.kafka.offset': origin.sequence })
      })
      if (stage === undefined) continue
      stages.set(routed.index, stage)
      routed.entry = { ...routed.entry, publication: { ...publication, traceparent: stage.traceparent } }
    }
  }
  return stages
}
