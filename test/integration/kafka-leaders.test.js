import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { Producer } from '../../src/kafka/producer.js'
import { testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'

const PARTITIONS = 6
const MOVES = 6

/** @param {number} turn @param {number} partition @returns {number} the broker that has it: each turn others move */
const brokerOf = (turn, partition) => 1 + (partition + Math.floor((turn + partition % 3) / 2)) % 2

test('while partitions move between two brokers each record that is reported as written is there once, and in its order', async (t) => {
  const first = await startKafka()
  t.after(() => first.stop())
  const second = await startKafka({ joins: first.cluster })
  t.after(() => second.stop())
  const kafka = await testKafka(t, { brokers: first.brokers, topics: false })
  const topic = kafka.uplinkTopic
  const admin = kafka.client.admin()
  await admin.connect()
  kafka.onEnd(() => admin.disconnect())
  await waitFor(async () => (await admin.describeCluster()).brokers.length === 2, { message: 'both brokers' })
  const replicas = (/** @type {number} */ turn) =>
    Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, replicas: [brokerOf(turn, partition)] }))
  await admin.createTopics({ topics: [{ topic, replicaAssignment: replicas(0) }] })

  const producer = new Producer({ kafka: kafka.kafka, topic, log: kafka.log, clock: systemClock, random: systemRandom })
  kafka.onEnd(() => producer.stop())
  await producer.start()
  /** Outcome of each record, by its number. @type {Map<number, string>} */
  const outcomes = new Map()
  let isMoving = true
  let number = 0
  const write = async () => {
    while (isMoving) {
      const sent = Array.from({ length: 60 }, () => {
        const own = number++
        const record = { key: `k${own % 20}`, value: Buffer.from(String(own).padEnd(200)), headers: {} }
        return producer.send(record).then(() => 'written', ({ code }) => code)
          .then((outcome) => { outcomes.set(own, outcome) })
      })
      await Promise.race(sent)
    }
  }
  const writing = write()

  let moved = 0
  for (let turn = 1; turn <= MOVES; turn++) {
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: replicas(turn) }] })
    await waitFor(async () => {
      const { topics: [{ partitions }] } = await admin.fetchTopicMetadata({ topics: [topic] })
      return partitions.every(({ partitionId, leader }) => leader === brokerOf(turn, partitionId))
    }, { timeout: 20_000, message: `the leaders of turn ${turn}` })
    for (let partition = 0; partition < PARTITIONS; partition++)
      if (brokerOf(turn, partition) !== brokerOf(turn - 1, partition)) moved++
    const wanted = outcomes.size + 120
    await waitFor(() => outcomes.size >= wanted, { timeout: 15_000, message: () => `${wanted} outcomes: ${outcomes.size}` })
  }
  isMoving = false
  await writing
  await waitFor(() => outcomes.size === number, { timeout: 15_000, message: () => `${outcomes.size} of ${number} outcomes` })

  const ends = await admin.fetchTopicOffsets(topic)
  const records = await kafka.readAll(topic, ends.reduce((sum, { high }) => sum + Number(high), 0))
  /** @type {Map<number, number>} */
  const times = new Map()
  /** @type {Map<string | null, number>} */
  const last = new Map()
  for (const { key, value } of records) {
    const own = Number(String(value))
    times.set(own, (times.get(own) ?? 0) + 1)
    assert.ok(own > (last.get(key) ?? -1), `${own} of ${key} follows ${last.get(key)}`)
    last.set(key, own)
  }
  /** @type {Record<string, number>} */
  const counts = {}
  for (const [own, outcome] of outcomes) {
    const count = times.get(own) ?? 0
    if (outcome === 'written') assert.equal(count, 1, `${own} is reported as written`)
    // a timeout says that the record may be there
    else assert.ok(count <= (outcome === 'timeout' ? 1 : 0), `${own}: ${outcome}, and ${count} times there`)
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  t.diagnostic(`${moved} moves, ${JSON.stringify(counts)}`)
  assert.ok(moved >= MOVES && counts.written >= 120, JSON.stringify({ moved, counts }))
})
