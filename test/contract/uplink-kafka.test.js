import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createKafkaUplink } from '../../src/services/uplink/kafka-uplink.js'
import { memoryQueues } from '../helpers/memory-queues.js'
import { testKafka } from '../helpers/kafka-ingest.js'
import { uplinkContract } from './uplink.js'

uplinkContract('kafka', async (t) => {
  const kafka = await testKafka(t)
  const metrics = createMetrics({ processMetrics: false })
  const uplink = createKafkaUplink({
    kafka: kafka.kafka, topic: kafka.uplinkTopic, queues: memoryQueues(), log: kafka.log, metrics,
    clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => uplink.stop())
  await uplink.start()
  return {
    uplink,
    messages: async (count) =>
      (await kafka.readAll(kafka.uplinkTopic, count)).map(({ value, headers }) => ({
        guid: headers['x-guid'],
        event: headers['x-event'],
        traceId: headers['x-trace-id'],
        traceparent: headers.traceparent,
        contentType: headers['content-type'],
        value: /** @type {Buffer} */ (value)
      }))
  }
})
