import { createMetrics } from '../../src/metrics/metrics.js'
import { createStreamUplink } from '../../src/uplink/stream-uplink.js'
import { createMemoryStream } from '../../src/uplink/stream/memory-stream.js'
import { systemClock } from '../../src/common/clock.js'
import { manualClock } from '../helpers/manual-clock.js'
import { readAll } from '../helpers/uplink-stream.js'
import { streamContract } from './uplink-stream.js'
import { uplinkContract } from './uplink.js'

streamContract('memory', async (t, options) => {
  const clock = { ...manualClock(), soon: systemClock.soon }
  const stream = createMemoryStream({ ...options, clock })
  t.after(() => stream.stop())
  await stream.start()
  return { stream, pass: (ms) => clock.advance(ms) }
})

uplinkContract('stream in memory', async () => {
  const stream = createMemoryStream({ groups: ['one'], clock: systemClock })
  const uplink = createStreamUplink({ stream, metrics: createMetrics({ processMetrics: false }) })
  return { uplink, messages: () => readAll(stream) }
})
