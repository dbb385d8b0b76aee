import { memoryLimit } from '../../base/machine/memory.js'

/**
 * @typedef {import('prom-client').MetricObjectWithValues<import('prom-client').MetricValue<string>>} MetricWithValues
 */

/**
 * The weight of a machine for new connections, relative to an idle one: the answer of the load agent.
 *
 * The fullest of four resources decides:
 *
 * - CPU: a gateway worker is free up to half of its core's time, and full from 95 % on. Deliveries come in bursts, and
 *   a worker has only one core.
 * - Event loop lag (p99 of the slowest worker): from 20 ms, normal in a burst, to 200 ms, which users notice.
 * - Memory of all processes: from 60 % of the container's or machine's, to 90 %, where workers are overloaded.
 * - Connections, relative to those of a full machine: they stay when bursts are over, so they even out the machines.
 *
 * A ready machine never answers less than 1 %: if all were full, new clients would be refused everywhere.
 *
 * @typedef {object} Load
 * @property {number} cpu share of the gateway workers' cores that is used, 0 to 1
 * @property {number} lag ms
 * @property {number} memory share of the machine's or container's memory that inkcast uses, 0 to 1
 * @property {number} connections
 */

const CPU = { free: 0.5, full: 0.95 }
const LAG = { free: 20, full: 200 }
const MEMORY = { free: 0.6, full: 0.9 }

/**
 * @param {Load} load
 * @param {number} capacity connections at which this machine is full
 * @returns {number} percent, 1 to 100
 */
export function weightOf ({ cpu, lag, memory, connections }, capacity) {
  const used = Math.max(
    between(cpu, CPU), between(lag, LAG), between(memory, MEMORY), between(connections, { free: 0, full: capacity })
  )
  return Math.max(1, Math.round(100 * (1 - used)))
}

/**
 * Connections of a gateway worker with which its machine counts as full: a third more than docs/capacity.md plans with.
 */
const WORKER_CONNECTIONS = 20_000

/**
 * @param {number} workers of a machine
 * @param {number} [maxConnections] MAX_CONNECTIONS
 * @returns {number} connections with which the machine is full
 */
export const connectionsOfFull = (workers, maxConnections = Infinity) =>
  workers * Math.min(WORKER_CONNECTIONS, maxConnections)

/**
 * @param {number} value
 * @param {{ free: number, full: number }} range
 * @returns {number} 0 at `free` or below, 1 at `full` or above
 */
const between = (value, { free, full }) => Math.min(1, Math.max(0, (value - free) / (full - free)))

/**
 * Figures from the metrics of a machine's gateway workers.
 * @typedef {object} Sample
 * @property {number} at ms
 * @property {Map<string, number>} cpuSeconds by process
 * @property {number} lag ms
 * @property {number} memory of all processes, bytes
 * @property {number} connections
 */

/**
 * @param {readonly import('./status.js').ProcessStatus[]} processes
 * @param {number} at ms
 * @returns {Sample}
 */
export function sampleOf (processes, at) {
  /** @type {Sample} */
  const sample = { at, cpuSeconds: new Map(), lag: 0, memory: 0, connections: 0 }
  for (const { metrics } of processes) {
    for (const metric of /** @type {MetricWithValues[]} */ (metrics))
      if (metric.name === 'process_resident_memory_bytes')
        for (const { value } of metric.values ?? []) sample.memory += value
  }
  for (const { name, metrics } of processes.filter(({ name }) => /^(gateway|embedded)-/.test(name))) {
    for (const metric of /** @type {MetricWithValues[]} */ (metrics)) {
      for (const { value, labels } of metric.values ?? []) {
        if (metric.name === 'inkcast_connections') sample.connections += value
        if (metric.name === 'inkcast_event_loop_lag_seconds' && labels.quantile === 'p99')
          sample.lag = Math.max(sample.lag, 1000 * value)
        // two processes of one slot, while one replaces the other, count as one core
        if (metric.name === 'process_cpu_seconds_total')
          sample.cpuSeconds.set(name, (sample.cpuSeconds.get(name) ?? 0) + value)
      }
    }
  }
  return sample
}

/**
 * @param {Sample | undefined} before undefined: there is none yet, and the CPU does not count
 * @param {Sample} now
 * @param {number} [limit] of memory, bytes
 * @returns {Load}
 */
export function loadBetween (before, now, limit = memoryLimit()) {
  const { lag, connections } = now
  const memory = now.memory / limit
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000
  if (before === undefined || seconds <= 0) return { cpu: 0, lag, memory, connections }
  // a process that was replaced meanwhile has counted from 0
  const shares = [...now.cpuSeconds].map(
    ([name, used]) => Math.max(0, used - (before.cpuSeconds.get(name) ?? used)) / seconds
  )
  return {
    cpu: shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length,
    lag,
    memory,
    connections
  }
}
