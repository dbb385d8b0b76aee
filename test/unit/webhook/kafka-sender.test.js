import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemRandom } from '../../../src/base/common/random.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createDelivery } from '../../../src/services/webhook/delivery.js'
import { createKafkaSender } from '../../../src/services/webhook/kafka-sender.js'
import { WebhookError } from '../../../src/services/webhook/request.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** Limit of the dead-letter topic, bytes of a value. */
const MAX_BYTES = 1000

/** @typedef {import('../../../src/kafka/contract.js').KafkaDriver} KafkaDriver */
/** @typedef {import('../../../src/kafka/contract.js').OutgoingMessage} OutgoingMessage */

/**
 * A Kafka whose uplink topic has one partition with these values, and whose dead-letter topic is limited.
 * @param {string[]} values
 * @param {Record<string, string>} [headers] of the first one, beside the usual ones
 * @param {string} [timestamp] of Kafka
 */
function fakeKafka (values, headers = {}, timestamp = '1') {
  const messages = values.map((value, i) => ({
    key: Buffer.from('minutes'),
    value: Buffer.from(value),
    headers: { 'x-operator': 'message', 'x-guid': 'minutes', 'x-trace-id': `trace-${i}`, ...(i === 0 && headers) },
    offset: String(i),
    timestamp
  }))
  /** @type {OutgoingMessage[]} */
  const letters = []
  const state = { next: 0, joins: 0, failures: 0 }
  /** @type {KafkaDriver} */
  const driver = {
    ensureTopics: async () => ({ missing: [], created: false }),
    safety: async () => ({ brokers: 1, topics: [] }),
    topicId: async () => '',
    epochEnd: async () => undefined,
    inspect: async () => ({ ends: async () => [], committed: async () => [], close: () => {} }),
    produce: async () => ({
      maxBytes: MAX_BYTES,
      async send (sent) {
        if (state.failures-- > 0)
          return { rejected: true, error: new InkcastError('bad_request', 'Kafka refuses the record: INVALID_RECORD') }
        if (sent.some(({ value }) => (value?.length ?? 0) > MAX_BYTES))
          return { rejected: true, error: new InkcastError('value_too_large') }
        letters.push(...sent)
        return undefined
      },
      close: async () => true
    }),
    consume: (_options, handlers) => ({
      async start () {
        state.joins++
        handlers.onJoined({ partitions: [0], leader: true })
        const { next: from } = state
        if (from === messages.length) return
        handlers.handle({
          partition: 0,
          messages: messages.slice(from),
          from,
          end: messages.length,
          highWatermark: messages.length,
          isCurrent: () => true,
          heartbeat: async () => {},
          resolve: (offset) => { state.next = Number(offset) + 1 },
          pause: () => () => {},
          commit: async () => {}
        }).catch(handlers.onFailure)
      },
      commit: async () => {},
      seek () {},
      close: async () => true
    })
  }
  return { driver, state, letters }
}

/**
 * A sender to a service that refuses every value with the text `poison`.
 * @param {import('node:test').TestContext} t
 * @param {ReturnType<typeof fakeKafka>} kafka
 * @param {number[]} [answers] status of its first answers, in place of the usual ones
 */
async function start (t, { driver }, answers = []) {
  const { log, lines } = recordingLog()
  const clock = { ...systemClock, sleep: async () => { await delay(1) } }
  const metrics = createMetrics({ processMetrics: false })
  /** @type {string[]} */
  const accepted = []
  const delivery = createDelivery({
    async request (_id, body) {
      const status = answers.shift()
      if (status !== undefined) throw new WebhookError(`HTTP ${status}`, { status })
      const events = JSON.parse(body.toString())
      if (events.some((/** @type {{ data: string }} */ { data }) => data.startsWith('poison')))
        throw new WebhookError('HTTP 422', { status: 422 })
      for (const { data } of events) accepted.push(data)
      return { text: '' }
    },
    answers: async () => {},
    log, metrics, clock, random: systemRandom
  })
  const sender = createKafkaSender({
    kafka: driver,
    settings: /** @type {any} */ ({ topics: { uplink: 'uplink', deadLetter: 'dead-letter' }, groupId: 'g' }),
    maxBytes: 2 ** 20,
    delivery, log, clock, random: systemRandom
  })
  t.after(() => sender.stop())
  await sender.start()
  return {
    accepted, lines,
    async refused () {
      const { values } = await metrics.webhook_events.get()
      return values.find(({ labels }) => labels.result === 'refused')?.value
    }
  }
}

const ORIGIN = { 'x-reason': 'webhook: HTTP 422', 'x-topic': 'uplink', 'x-partition': '0', 'x-offset': '1' }

test('a refused event becomes a dead letter, with its reason and its origin', async (t) => {
  const kafka = fakeKafka(['"a"', '"poison"', '"b"'])
  const { accepted } = await start(t, kafka)
  await waitFor(() => accepted.includes('b'), { message: () => accepted })
  assert.deepEqual(kafka.letters.map(({ key, value, headers }) => [String(key), String(value), headers]), [[
    'minutes',
    '"poison"',
    { 'x-operator': 'message', 'x-guid': 'minutes', 'x-trace-id': 'trace-1', ...ORIGIN }
  ]])
})

test('a refused event that is too large for the dead-letter topic is kept without its value, and delays no other', async (t) => {
  const kafka = fakeKafka(['"a"', `"poison${'x'.repeat(MAX_BYTES)}"`, '"b"'])
  const { accepted, lines, refused } = await start(t, kafka)
  await waitFor(() => accepted.includes('b') || kafka.state.joins > 3, { timeout: 20_000, message: () => lines })
  assert.deepEqual([accepted, kafka.state.joins], [['a', 'b'], 1])
  assert.deepEqual(kafka.letters.map(({ key, value, headers }) => ({ key, value, headers })), [
    { key: null, value: null, headers: { ...ORIGIN, 'x-truncated': 'true' } }
  ])
  assert.equal(await refused(), 1)
  const told = lines.filter(({ text }) => text.includes('too large for the dead-letter topic'))
  assert.deepEqual(told.map(({ level }) => level), ['warn'])
  assert.match(told[0].text, /"topic":"uplink","partition":0,"offset":"1"/)
})

test('a refused event is sent again until the dead-letter topic accepts it', async (t) => {
  const kafka = fakeKafka(['"poison"', '"b"'])
  kafka.state.failures = 2
  const { accepted } = await start(t, kafka)
  await waitFor(() => accepted.includes('b'), { timeout: 20_000, message: () => accepted })
  assert.deepEqual([kafka.letters.length, kafka.state.joins], [1, 3])
})

test('an event is given up after five refusals, however often the service did not answer before', async (t) => {
  const kafka = fakeKafka(['"a"'])
  const { accepted } = await start(t, kafka, [503, 503, 503, 503, 503, 503, 422, 422, 422, 422])
  await waitFor(() => accepted.length > 0 || kafka.letters.length > 0)
  assert.deepEqual([accepted, kafka.letters], [['a'], []])
})

test('a record whose time another program has written wrongly has the time of Kafka, and delays no other', async (t) => {
  const kafka = fakeKafka(['"a"', '"b"'], { 'x-timestamp': '2026-01-01' })
  const { accepted } = await start(t, kafka)
  await waitFor(() => accepted.length === 2 || kafka.state.joins > 3, { message: () => accepted })
  assert.deepEqual([accepted, kafka.state.joins], [['a', 'b'], 1])
})

test('a record whose time in Kafka is none delays no other', async (t) => {
  const kafka = fakeKafka(['"a"', '"b"'], {}, '1700000000000000000')
  const { accepted } = await start(t, kafka)
  await waitFor(() => accepted.length === 2 || kafka.state.joins > 3, { message: () => accepted })
  assert.deepEqual([accepted, kafka.state.joins], [['a', 'b'], 1])
})
