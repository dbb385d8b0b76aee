import { createRequire } from 'node:module'
import { VERSION } from '../../base/process/version.js'
import { collectProcessMetrics } from './process-metrics.js'
import { begunSeries } from './table/begun-counters.js'
import { METRICS } from './table/metrics-table.js'
import { TalliedCounter } from './tallied-counter.js'
import { TalliedHistogram } from './tallied-histogram.js'

const require = createRequire(import.meta.url)
const { Gauge, Registry } = require('prom-client')

/** @typedef {import('./table/metric-entry.js').MetricEntry} MetricEntry */

/**
 * @template {MetricEntry['type']} T
 * @typedef {T extends 'counter' ? TalliedCounter : T extends 'gauge' ? Gauge : TalliedHistogram} Metric
 */

/** @typedef {ReturnType<typeof createMetrics>} Metrics */

/**
 * The metrics of one process, by their name in the table.
 * @param {object} [options]
 * @param {string} [options.role] a label of every series, so that the same series of two roles stay apart
 * @param {boolean} [options.processMetrics] also Node's own (CPU, memory, garbage collection); default true
 */
export function createMetrics ({ role = 'embedded', processMetrics = true } = {}) {
  const registry = new Registry()
  registry.setDefaultLabels({ role })
  const loop = processMetrics ? collectProcessMetrics(registry) : undefined
  /** @type {Record<string, unknown>} */
  const metrics = {}
  for (const [name, entry] of Object.entries(/** @type {Record<string, MetricEntry>} */ (METRICS))) {
    const options = {
      name: `inkcast_${name}${entry.type === 'counter' ? '_total' : ''}`,
      help: entry.help,
      labelNames: entry.labels ?? [],
      registers: [registry],
      aggregator: entry.aggregator ?? 'sum'
    }
    if (entry.type === 'counter') metrics[name] = new TalliedCounter(options)
    else if (entry.type === 'gauge') metrics[name] = new Gauge(options)
    else metrics[name] = new TalliedHistogram({ ...options, buckets: entry.buckets ?? [] })
  }
  for (const [name, labels] of begunSeries(role)) /** @type {TalliedCounter} */ (metrics[name]).inc(labels, 0)
  /** @type {(() => void)[]} */
  const collectors = []
  const buildInfo = /** @type {Gauge} */ (metrics.build_info)
  buildInfo.set({ version: VERSION, node: process.versions.node }, 1)
  return {
    registry,
    /** The event loop's gauges of Node; undefined without `processMetrics`. */
    loop,
    /**
     * For values that are read or summed when metrics are collected.
     * @param {() => void} collector called before each collection
     */
    onCollect (collector) { collectors.push(collector) },
    /**
     * @param {readonly string[]} [names] only these, in the exposition format; without the label `role`
     * @returns {Promise<import('prom-client').MetricObject[]>} metrics of this process, to be merged with those of
     *   other processes; default: all
     */
    async collect (names) {
      if (names?.length === 0) return []
      for (const collector of collectors) collector()
      if (names === undefined) return /** @type {any} */ (await registry.getMetricsAsJSON())
      return Promise.all(names.flatMap((name) => registry.getSingleMetric(name)?.get() ?? []))
    },
    .../** @type {{ [K in keyof typeof METRICS]: Metric<(typeof METRICS)[K]['type']> }} */ (metrics)
  }
}
