import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Ingest } from '../../../src/ingest/ingest.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** Redis fails over after the first question about its generation: logs of `one` have to be healed in `two`. */
class Failover {
  generation = 'one'
  state = 'done'
  /** @type {string[]} what was published: operator and offset */
  published = []
  heals = true

  read = async (/** @type {string[]} */ sources) => sources.map(() => '9.0')
  write = async (/** @type {unknown[]} */ marks) => marks.map(() => 0)

  look = async () => {
    const found = { generation: this.generation, state: this.state, mark: '9.0', age: 1 }
    if (this.generation === 'one') Object.assign(this, { generation: 'two', state: '' })
    return found
  }

  note = async (/** @type {string} */ _source, /** @type {string} */ _generation, /** @type {string} */ state) => {
    this.state = state
    return this.look()
  }

  publishChecked = async (/** @type {import('../../../src/log/bus/contract.js').PublishEntry[]} */ entries) => {
    for (const { publication: { operator }, origin } of entries) {
      if (operator === 'broadcast' && origin?.healed !== this.generation)
        throw new InkcastError('unavailable', undefined, { cause: new Error(`UNHEALED ${this.generation}`) })
      this.published.push(`${operator} ${origin?.sequence}`)
    }
    return entries.map(() => ({ position: null, duplicate: false }))
  }

  refused () {}
  passedOver () {}
}

/** @param {import('node:test').TestContext} t @param {Failover} redis */
async function startIngest (t, redis) {
  const clock = manualClock()
  /** @type {any} */
  let reader
  const kafka = {
    ensureTopics: async () => ({ missing: [], created: false }),
    safety: async () => ({ brokers: 1, topics: [] }),
    topicId: async () => 'T',
    epochEnd: async () => undefined,
    inspect: async () => ({
      ends: async () => [{ partition: 0, low: 0, high: 12 }],
      committed: async () => [{ partition: 0, offset: 10, metadata: 'T' }],
      close () {}
    }),
    consume (/** @type {unknown} */ _topic, /** @type {any} */ handlers) {
      reader = handlers
      return { start: async () => {}, commit: async () => {}, seek () {}, close: async () => true }
    },
    produce: async () => ({ maxBytes: undefined, send: async () => undefined, close: async () => true })
  }
  const metrics = createMetrics({ processMetrics: false })
  const ingest = new Ingest({ log: recordingLog().log, metrics, clock, random: systemRandom }, /** @type {any} */ ({
    kafka, publisher: redis, markStore: redis, deadLetter: {},
    echo: { id: 'e', start () {}, send: async () => {}, stop () {} },
    settings: {
      kafka: { topics: { downlink: 'd' }, groupId: 'g', valueFraming: 'none', partitions: 1 },
      limits: { maxRecordBytes: 1e6 }
    }
  }))
  await ingest.start()
  await clock.pass(300)
  reader.onJoined({ partitions: [0], leader: true })
  await clock.pass(100)
  t.after(async () => {
    const stopped = ingest.stop()
    await clock.pass(10_000)
    await stopped
  })
  return {
    /** @param {object[]} headers of a record each, from offset 10 on */
    async deliver (headers) {
      const messages = headers.map((own, i) => ({
        key: null, value: Buffer.from('{}'), offset: String(10 + i), timestamp: String(clock.now()),
        batchContext: { leaderEpoch: 0 }, headers: { 'content-type': 'application/json', 'x-event': 'message', ...own }
      }))
      const delivered = reader.handle({
        partition: 0, messages, from: 10, end: 10 + messages.length, highWatermark: 12,
        isCurrent: () => true, heartbeat: async () => {}, resolve () {}, pause: () => () => {}, commit: async () => {}
      })
      await clock.pass(1000)
      await delivered
    }
  }
}

test('a message whose batch has to be read again after a failover of Redis is delivered once', async (t) => {
  const redis = new Failover()
  const { deliver } = await startIngest(t, redis)
  const batch = [{ 'x-operator': 'user', 'x-uid': 'ada' }, { 'x-operator': 'broadcast', 'x-guid': 'doc' }]
  for (let i = 0; i < 3; i++) await deliver(batch)
  assert.deepEqual(redis.published, ['user 10', 'broadcast 11'])
})

test('a revoke whose batch has to be read again is carried out again: the failover may have lost it', async (t) => {
  const redis = new Failover()
  const { deliver } = await startIngest(t, redis)
  const batch = [
    { 'x-operator': 'revoke', 'x-uid': 'ada', 'x-guid': 'other' }, { 'x-operator': 'broadcast', 'x-guid': 'doc' }
  ]
  for (let i = 0; i < 3; i++) await deliver(batch)
  assert.deepEqual([...new Set(redis.published)].sort(), ['broadcast 11', 'revoke 10'])
  assert.ok(redis.published.filter((one) => one === 'revoke 10').length >= 2, String(redis.published))
})
