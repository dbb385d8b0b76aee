import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'
import { createKafkaDownlink } from '../../src/kafka/downlink.js'

/** @param {number} i @returns {import('../../src/wire/publication.js').Publication} */
const publication = (i) => ({
  operator: 'broadcast',
  guid: `d${i % 5}`,
  event: 'edit',
  except: [],
  ephemeral: false,
  receipt: false,
  traceId: `t${i}`,
  timestamp: Date.now(),
  contentType: 'application/json',
  value: Buffer.from(String(i))
})

/** @param {import('../../src/metrics/metrics.js').Metrics} metrics @returns {Promise<number>} s */
async function silenceOf (metrics) {
  const [{ values }] = /** @type {any} */ (await metrics.collect(['inkcast_kafka_silence_seconds']))
  return values[0].value
}

test('Kafka is restarted, killed and stops answering while records are written and read', async (t) => {
  const broker = await startKafka()
  const kafka = await testKafka(t, { brokers: broker.brokers })
  const { ingest, bus, published, metrics } = await startIngest(kafka)
  const downlink = createKafkaDownlink({
    kafka: kafka.kafka, topic: kafka.downlinkTopic, log: kafka.log, clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => downlink.stop())
  t.after(() => broker.stop())

  /** @type {number[]} acknowledged records */
  const safe = []
  /** @type {string[]} */
  const refusals = []
  let next = 0
  let writing = true
  const writer = (async () => {
    while (writing) {
      for (let i = 0; i < 5; i++) {
        const number = next++
        downlink.publish(publication(number)).then(() => safe.push(number), (error) => refusals.push(error.code))
      }
      await delay(20)
    }
  })()

  /** @param {string} what @param {() => Promise<void>} fault */
  async function survives (what, fault) {
    const before = bus.published.length
    await fault()
    const again = next
    const began = performance.now()
    await waitFor(() => bus.published.some(({ publication: { value } }) => Number(value.toString()) >= again),
      { timeout: 45_000, message: () => [what, ingest.status(), bus.published.length, before] })
    t.diagnostic(`${what}: records flow again ${Math.round(performance.now() - began)} ms after the fault`)
    await waitFor(() => ingest.status().ready, { timeout: 15_000, message: () => ingest.status() })
  }

  await published(50)
  await survives('an orderly restart', () => broker.restart())
  await survives('a crash', async () => {
    await broker.kill('SIGKILL')
    await delay(3000)
    await broker.restart()
  })
  await survives('12 s without an answer', async () => {
    await broker.kill('SIGSTOP')
    await delay(12_000)
    const silence = await silenceOf(metrics)
    assert.ok(silence > 10 && silence < 30, `Kafka has been silent for ${silence} s`)
    await broker.kill('SIGCONT')
  })
  assert.ok(await silenceOf(metrics) < 2)
  writing = false
  await writer
  await waitFor(() => safe.length + refusals.length === next, {
    timeout: 15_000,
    message: () => [safe.length, refusals.length, next]
  })

  const numbers = () => bus.published.map(({ publication: { value } }) => Number(value.toString()))
  await waitFor(() => {
    const got = new Set(numbers())
    return safe.every((number) => got.has(number))
  }, { timeout: 45_000 })
  await delay(500) // late duplicates would arrive now
  const unique = new Set(numbers())
  const twice = numbers().length - unique.size
  t.diagnostic(
    `${next} written, ${safe.length} acknowledged, ${refusals.length} refused, ${twice} duplicates, ${ingest.status().restarts} consumers replaced`
  )
  assert.equal(twice, 0, 'no duplicates in the topic')
  for (const [guid, list] of bus.byDocument()) {
    const ofDocument = list.map(Number)
    assert.deepEqual(ofDocument, [...ofDocument].sort((a, b) => a - b), `order of ${guid}`)
  }
  assert.ok(refusals.every((code) => code === 'unavailable' || code === 'timeout'), [...new Set(refusals)].join())
  assert.equal((await metrics.kafka_consumer_restarts.get()).values[0].value, ingest.status().restarts)
})
