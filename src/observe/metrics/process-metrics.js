import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Gauge, collectDefaultMetrics } = require('prom-client')

/**
 * Metrics of Node and of the process (`nodejs_…`, `process_…`), with the names and meanings of prom-client, which
 * dashboards for Node know. They are merged over the processes of a role by sum, except these.
 * @type {Record<string, string>}
 */
const AGGREGATORS = {
  // the newest process: it changes with each restart
  process_start_time_seconds: 'max',
  nodejs_eventloop_lag_seconds: 'max'
}

/** Interval of prom-client's own samples of the event loop's delay, which are not used: an hour, ms. */
const UNUSED = 3_600_000

/**
 * Figures of the event loop's delay. prom-client would measure it once more, at 10 ms, which takes 0.4 % of a core,
 * and its values contain the interval of the samples.
 */
const LAG = /** @type {const} */ ({
  min: 'min', max: 'max', mean: 'average', stddev: 'average', p50: 'max', p90: 'max', p99: 'max'
})

/** @typedef {{ [K in keyof typeof LAG]: Gauge }} LoopGauges */

/**
 * @param {import('prom-client').Registry} registry
 * @returns {LoopGauges} of the event loop's delay in the last 10 s, s; src/observe/metrics/event-loop.js sets them
 */
export function collectProcessMetrics (registry) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: UNUSED })
  for (const [name, aggregator] of Object.entries(AGGREGATORS))
    Object.assign(registry.getSingleMetric(name) ?? {}, { aggregator })
  return /** @type {LoopGauges} */ (Object.fromEntries(Object.entries(LAG).map(([part, aggregator]) => {
    const name = `nodejs_eventloop_lag_${part}_seconds`
    const { help = name } = /** @type {{ help?: string }} */ (registry.getSingleMetric(name) ?? {})
    registry.removeSingleMetric(name)
    return [part, new Gauge({ name, help, aggregator, registers: [registry] })]
  })))
}
