import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createDelivery } from '../../../src/services/webhook/delivery.js'
import { WebhookError } from '../../../src/services/webhook/request.js'
import { StreamSender } from '../../../src/services/webhook/stream-sender.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

// Redis has lost the lease since the last renewal
test('a batch is not sent again when another process has the part', async (t) => {
  const clock = manualClock()
  const { log } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const record = {
    operator: 'message', guid: 'd', traceId: 't', timestamp: 1, contentType: 'application/json', value: Buffer.from('1')
  }
  let posts = 0
  const delivery = createDelivery({
    request: async () => {
      posts++
      throw new WebhookError('503', { status: 503 })
    },
    answers: async () => {}, log, metrics, clock, random: systemRandom
  })
  let isElsewhere = false
  /** @type {number[]} */
  const done = []
  const sender = new StreamSender({
    stream: /** @type {any} */ ({
      parts: 1,
      watch: () => () => {},
      take: async () =>
        isElsewhere ? null : { entries: [{ id: '1', source: 's', sequence: '1', record }], upTo: '1-0 1' },
      done: async (/** @type {number} */ part) => done.push(part),
      release: async () => {},
      state: async () => ({ records: 1, bytes: 1 })
    }),
    group: 'webhook', holder: 'this', delivery, log, metrics, clock, random: systemRandom
  })
  t.after(async () => {
    const stopped = sender.stop()
    await clock.pass(1000)
    await stopped
  })
  await sender.start()
  await clock.pass(1000)
  const before = posts
  assert.ok(before > 1, `${before} tries`)
  isElsewhere = true
  await clock.pass(900)
  assert.equal(posts, before)
  assert.deepEqual(done, [])
})
