import { systemClock } from '../../src/common/clock.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createPublisher } from '../../src/publish/publisher.js'

/**
 * A publisher with metrics of its own, for values of up to 1,000 bytes.
 * @param {Pick<import('../../src/bus/contract.js').Bus, 'publish'>} bus
 */
export const testPublisher = (bus) =>
  createPublisher({
    bus,
    limits: { maxRecordBytes: 1000 },
    metrics: createMetrics({ processMetrics: false }),
    clock: systemClock
  })
