import { ADMISSION_METRICS } from './admission-metrics.js'
import { API_METRICS } from './api-metrics.js'
import { CONNECT_METRICS } from './connect-metrics.js'
import { CONNECTION_METRICS } from './connection-metrics.js'
import { DELIVERY_METRICS } from './delivery-metrics.js'
import { DURABILITY_METRICS } from './durability-metrics.js'
import { EXTENSION_METRICS } from './extension-metrics.js'
import { HEARTBEAT_METRICS } from './heartbeat-metrics.js'
import { INSPECT_METRICS } from './inspect-metrics.js'
import { KAFKA_METRICS } from './kafka-metrics.js'
import { LAUNCHER_METRICS } from './launcher-metrics.js'
import { PRESENCE_METRICS } from './presence-metrics.js'
import { PROCESS_METRICS } from './process-metrics.js'
import { RECEIPT_METRICS } from './receipt-metrics.js'
import { REDIS_METRICS } from './redis-metrics.js'
import { REPAIR_METRICS } from './repair-metrics.js'
import { SLOW_CONNECTION_METRICS } from './slow-connection-metrics.js'
import { TENANT_METRICS } from './tenant-metrics.js'
import { UPLINK_METRICS } from './uplink-metrics.js'

/**
 * Every metric of inkcast; docs/metrics.md is generated from it.
 *
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const METRICS = Object.freeze({
  ...CONNECTION_METRICS,
  ...ADMISSION_METRICS,
  ...CONNECT_METRICS,
  ...TENANT_METRICS,
  ...SLOW_CONNECTION_METRICS,
  ...HEARTBEAT_METRICS,
  ...DELIVERY_METRICS,
  ...EXTENSION_METRICS,
  ...REPAIR_METRICS,
  ...RECEIPT_METRICS,
  ...PRESENCE_METRICS,
  ...UPLINK_METRICS,
  ...API_METRICS,
  ...DURABILITY_METRICS,
  ...REDIS_METRICS,
  ...KAFKA_METRICS,
  ...INSPECT_METRICS,
  ...LAUNCHER_METRICS,
  ...PROCESS_METRICS
})
