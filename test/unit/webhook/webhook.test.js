import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createRedisStream } from '../../../src/services/uplink/stream/redis-stream.js'
import { createWebhook } from '../../../src/services/webhook/webhook.js'
import { reversed } from '../../helpers/file-scope.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { storeRedis } from '../../helpers/store-redis.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET, startWebhookService } from '../../helpers/webhook-service.js'

for (const [readers, groups, asked] of /** @type {[string, string[], string[]][]} */ ([
  ['the webhook alone, so that the uplink has asked', ['webhook'], []],
  ['others too', ['webhook', 'audit'], ['minutes']]
])) {
  test(`The rule of a document is asked once if a stream is read by ${readers}`, async (t) => {
    const service = await startWebhookService(t)
    const scope = reversed(t)
    const { redis } = await storeRedis(scope)
    const stream = createRedisStream({ redis, groups, clock: systemClock, random: systemRandom })
    /** @type {string[]} */
    const guids = []
    const webhook = createWebhook({
      settings: { url: service.url, secrets: [SECRET] },
      rulesOf: (guid) => {
        guids.push(guid)
        return /** @type {any} */ ({ uplink: true })
      },
      caller: /** @type {any} */ ({}),
      log: recordingLog().log,
      metrics: createMetrics({ processMetrics: false }),
      clock: systemClock,
      random: systemRandom
    })
    await stream.append({
      operator: 'message', guid: 'minutes', event: 'edit', traceId: 't-1', timestamp: Date.now(),
      contentType: 'application/json', value: Buffer.from('{}')
    })
    const sender = webhook.senderFrom(stream)
    await sender.start()
    scope.after(() => sender.stop())
    await waitFor(() => service.events.length > 0)
    assert.deepEqual(guids, asked)
  })
}
