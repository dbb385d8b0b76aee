import { ASSUMED } from './assumed.js'
import { number } from './format.js'
import { measured } from './measured.js'

/** Gateway workers of the measurement. */
const MEASURED_WORKERS = 2

/**
 * @param {number} connections
 * @param {number} perSecond deliveries per connection
 */
export function plan (connections, perSecond) {
  const deliveries = connections * perSecond
  const records = deliveries / ASSUMED.members
  const cores = (/** @type {number} */ perRecord, /** @type {number} */ rate) => perRecord * rate / 1e6
  const storm = connections / ASSUMED.storm
  const gatewayCores = cores(measured.idle, connections) + cores(measured.delivery, deliveries)
  // a storm may use the other half
  const stormCores = gatewayCores + cores(measured.handshake, storm)
  const byCpu = Math.ceil(Math.max(gatewayCores / ASSUMED.busy, stormCores))
  const byConnections = Math.ceil(connections / measured.onOneWorker)
  const workers = Math.max(2, byCpu, byConnections)
  const machines = Math.max(2, Math.ceil(workers / ASSUMED.coresPerMachine))
  const memoryGB = (workers * ASSUMED.workerMB * 1000 + connections * (measured.memory + measured.kernel)) / 1e6
  const redisWork = cores(measured.redis, records) * (workers > MEASURED_WORKERS ? ASSUMED.redisCopies : 1)
  const redisCores = Math.max(redisWork / ASSUMED.busy, redisWork + cores(measured.redisHandshake, storm))
  const redisMasters = redisCores <= 1 ? 1 : Math.max(ASSUMED.smallestCluster, Math.ceil(redisCores))
  const ingestCores = cores(measured.ingest, records)
  const ingest = Math.max(2, Math.ceil(ingestCores / ASSUMED.busy))
  const row = [
    number(connections),
    number(deliveries),
    number(records),
    `${number(workers)} (${workers > Math.max(byCpu, byConnections) ? 'minimum' : byConnections > byCpu ? 'connections' : 'CPU'})`,
    number(machines),
    `${number(Math.ceil(memoryGB / machines))} GB`,
    number(redisMasters),
    number(ingest),
    number(Math.max(12, 2 ** Math.ceil(Math.log2(ingest * 2)))),
    (cores(measured.kafka, records) / ASSUMED.busy).toFixed(1),
    `${(deliveries * measured.bytes * 8 / 1e9).toFixed(2)} Gbit/s`
  ]
  return {
    row, workers, machines, deliveries, gatewayCores, byCpu, byConnections, records, ingestCores, redisWork,
    redisMasters
  }
}

/** @param {number} workers @param {number} connections @returns {string} GB of one machine without TLS */
export const memoryOf = (workers, connections) =>
  ((workers * ASSUMED.workerMB * 1000 + connections * (measured.memory + measured.kernel)) / 1e6).toFixed(1)
