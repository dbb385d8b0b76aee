import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/common/random.js'
import { systemClock } from '../../../src/common/clock.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { createMemoryStream } from '../../../src/uplink/stream/memory-stream.js'
import { createWebhook } from '../../../src/webhook/webhook.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET, startWebhookService } from '../../helpers/webhook-service.js'

for (const [readers, groups, asked] of /** @type {[string, string[], string[]][]} */ ([
  ['the webhook alone, so that the uplink has asked', ['webhook'], []],
  ['others too', ['webhook', 'audit'], ['minutes']]
])) {
  test(`The rule of a document is asked once if a stream is read by ${readers}`, async (t) => {
    const service = await startWebhookService(t)
    const stream = createMemoryStream({ groups, clock: systemClock })
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
    const sender = webhook.senderFrom(stream)
    await sender.start()
    t.after(() => sender.stop())
    await stream.append({
      operator: 'message', guid: 'minutes', event: 'edit', traceId: 't-1', timestamp: Date.now(),
      contentType: 'application/json', value: Buffer.from('{}')
    })
    await waitFor(() => service.events.length > 0)
    assert.deepEqual(guids, asked)
  })
}
