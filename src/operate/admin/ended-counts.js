import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { AggregatorRegistry } = require('prom-client')

/**
 * The counts of processes that have ended. A sum over the processes of a machine would fall when one of them ends, and
 * Prometheus takes a counter that falls for one that began at 0 again: `increase` would jump by all that the other
 * processes have counted, and alerts would fire with each reload.
 *
 * The sums keep the counts of the last look at a process that has ended. Counts between that look and its end are lost.
 *
 * @typedef {import('prom-client').MetricObject} MetricObject
 * @typedef {import('./processes.js').Seen} Seen
 */

/** @param {MetricObject} metric */
const isCount = ({ type, aggregator }) =>
  (String(type) === 'counter' || String(type) === 'histogram') && (aggregator ?? 'sum') === 'sum'

export function createEndedCounts () {
  /** Counts at the last look, by process. @type {Map<string, MetricObject[]>} */
  const last = new Map()
  /** Their sums, by metric and labels: as many as one process has, however many have ended. @type {MetricObject[]} */
  let ended = []

  return {
    /**
     * To be called for one look after the other.
     * @param {readonly Seen[]} processes all of this machine; those that do not answer have no metrics
     * @returns {Promise<MetricObject[][]>} metrics to be merged
     */
    async add (processes) {
      const all = processes.map(({ id, metrics }) => {
        if (metrics.length === 0) return last.get(id) ?? []
        last.set(id, metrics.filter(isCount))
        return metrics
      })
      const gone = new Set(last.keys())
      for (const { id } of processes) gone.delete(id)
      if (gone.size > 0) {
        const counts = Array.from(gone, (id) => last.get(id) ?? [])
        ended = await AggregatorRegistry.aggregate([ended, ...counts]).getMetricsAsJSON()
        for (const id of gone) last.delete(id)
      }
      return [...all, ended].filter((list) => list.length > 0)
    }
  }
}
