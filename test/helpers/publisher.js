import { systemClock } from '../../src/base/common/clock.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createPublisher } from '../../src/log/publish/publisher.js'

/**
 * A publisher with metrics of its own, for values of up to 1,000 bytes.
 * @param {Pick<import('../../src/log/bus/contract.js').Bus, 'publish'>} bus
 */
export const testPublisher = (bus) =>
  createPublisher({
    bus,
    limits: { maxRecordBytes: 1000 },
    metrics: createMetrics({ processMetrics: false }),
    clock: systemClock
  })
