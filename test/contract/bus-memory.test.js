import { systemClock } from '../../src/common/clock.js'
import { createMemoryBus, createMemoryHub } from '../../src/bus/memory-bus.js'
import { createLog } from '../../src/common/log.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { busContract } from './bus.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
const metrics = createMetrics({ processMetrics: false })

busContract('memory', async ({ handlers, workers, history, idempotency }) => {
  const hub = createMemoryHub({ history, idempotency, clock: systemClock })
  const [first, second] = workers.map((workerNumber) => createMemoryBus({
    log, metrics, workerNumber, hub, clock: systemClock
  }))
  const publisher = createMemoryBus({ log, metrics, hub, clock: systemClock })
  const all = [first, second, publisher]
  for (const [i, bus] of all.entries()) await bus.start(handlers[i])
  return { first, second, publisher, stop: async () => { for (const bus of all) await bus.stop() } }
})
