/**
 * A sink whose publications may be traced: the stage lasts until they are safe.
 *
 * @param {import('./publish.js').Sink} sink
 * @param {import('../tracing/tracing.js').Tracing} tracing
 * @returns {import('./publish.js').Sink} rejects with what the sink rejects with
 */
export const tracedSink = (sink, tracing) => async (publications) => {
  if (!tracing.active) return sink(publications)
  const stages = publications.map((publication) => tracing.begin('publish', publication))
  try {
    const taken = await sink(publications.map((publication, i) => {
      const { [i]: stage } = stages
      return stage === undefined ? publication : { ...publication, traceparent: stage.traceparent }
    }))
    for (const [i, { error, position, duplicate }] of taken.entries()) {
      if (error !== undefined) stages[i]?.fail(error)
      else stages[i]?.end({ ...position, duplicate })
    }
    return taken
  } catch (error) {
    for (const stage of stages) stage?.fail(error)
    throw error
  }
}
