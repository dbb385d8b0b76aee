import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { LEASE } from '../../../src/services/uplink/stream/contract.js'
import { createDelivery } from '../../../src/services/webhook/delivery.js'
import { WebhookError } from '../../../src/services/webhook/request.js'
import { StreamSender } from '../../../src/services/webhook/stream-sender.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * A sender whose stream has one part, with one event in it.
 * @param {import('node:test').TestContext} t
 * @param {object} options
 * @param {(clock: import('../../../src/base/common/clock.js').Clock) => Promise<boolean>} options.isOurs what Redis
 *   answers to `take`: whether this process has the part
 * @param {(signal: AbortSignal) => Promise<never>} [options.request] default: the service answers 503
 */
async function start (t, {
  isOurs,
  request = async () => { throw new WebhookError('503', { status: 503 }) }
}) {
  const clock = manualClock()
  const { log } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const record = {
    operator: 'message', guid: 'd', traceId: 't', timestamp: 1, contentType: 'application/json', value: Buffer.from('1')
  }
  const state = { posts: 0, done: 0 }
  const delivery = createDelivery({
    request: (_id, _body, signal) => {
      state.posts++
      return request(signal)
    },
    answers: async () => {}, log, metrics, clock, random: systemRandom
  })
  const sender = new StreamSender({
    stream: /** @type {any} */ ({
      parts: 1,
      watch: () => () => {},
      take: async () =>
        await isOurs(clock) ? { entries: [{ id: '1', source: 's', sequence: '1', record }], upTo: '1-0 1' } : null,
      done: async () => ++state.done,
      release: async () => {},
      state: async () => ({ records: 1, bytes: 1 })
    }),
    group: 'webhook', holder: 'this', delivery, log, metrics, clock, random: systemRandom
  })
  t.after(async () => {
    const stopped = sender.stop()
    await clock.pass(20_000)
    await stopped
  })
  await sender.start()
  return { state, clock }
}

// Redis has lost the lease since the last renewal
test('a batch is not sent again when another process has the part', async (t) => {
  let isOurs = true
  const { state, clock } = await start(t, { isOurs: async () => isOurs })
  await clock.pass(1000)
  const { posts } = state
  assert.ok(posts > 1, `${posts} tries`)
  isOurs = false
  await clock.pass(900)
  assert.deepEqual(state, { posts, done: 0 })
})

/** Time until a command of a process without Redis fails, ms. */
const WITHOUT_REDIS = { 'commands fail at once': 0, 'commands fail late': 10_000 }

for (const [kind, wait] of Object.entries(WITHOUT_REDIS)) {
  /** @param {import('../../../src/base/common/clock.js').Clock} clock @returns {Promise<never>} */
  async function lost (clock) {
    if (wait > 0) await clock.sleep(wait)
    throw new Error('Connection is closed.')
  }

  test(`a batch is not sent again after the lease of the part has ended: ${kind}`, async (t) => {
    let takes = 0
    const { state, clock } = await start(t, { isOurs: async (clock) => takes++ === 0 || lost(clock) })
    await clock.pass(LEASE)
    const { posts } = state
    assert.ok(posts > 0)
    await clock.pass(60_000)
    assert.deepEqual(state, { posts, done: 0 })
  })

  test(`a request on its way ends with the lease of the part: ${kind}`, async (t) => {
    let takes = 0
    /** @type {AbortSignal | undefined} */
    let request
    const { state, clock } = await start(t, {
      isOurs: async (clock) => takes++ < 2 || lost(clock),
      request: (signal) => new Promise((_resolve, reject) => {
        request = signal
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    })
    // renewed after a third of the lease
    await clock.pass(LEASE * 4 / 3 - 1)
    assert.equal(request?.aborted, false)
    await clock.pass(1)
    assert.equal(request?.aborted, true)
    assert.deepEqual(state, { posts: 1, done: 0 })
  })
}
