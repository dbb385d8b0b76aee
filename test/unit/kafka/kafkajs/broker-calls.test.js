import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { connectProducer } from '../../../../src/kafka/kafkajs/topic-producer.js'
import { manualClock } from '../../../helpers/manual-clock.js'

const require = createRequire(import.meta.url)
/** @param {string} path of a part of kafkajs */
const partOf = (path) => require(`kafkajs/src/${path}`)
const createSendMessages = partOf('producer/sendMessages')
const createRetry = partOf('retry')

/** @typedef {{ partition: number, messages: { value: Buffer }[], firstSequence: number }} Part */

/**
 * Brokers 1 and 2, which lead a partition each, as kafkajs's own code for sending sees them: a broker knows the
 * sequence of each partition. (The brokers of tests are single ones.)
 */
async function brokers () {
  /** By partition. @type {Record<number, string[]>} */
  const log = { 0: [], 1: [] }
  /** @type {Record<number, number>} */
  const leaders = { 0: 1, 1: 2 }
  let metadata = { ...leaders }
  /** @type {Map<number, number>} */
  const sequences = new Map()
  /** Called before a broker answers; what it throws is its answer. @type {(nodeId: number) => void} */
  let answers = () => {}
  const refuses = () => {
    throw Object.assign(new Error('not the leader'), {
      name: 'KafkaJSProtocolError', type: 'NOT_LEADER_FOR_PARTITION', retriable: true
    })
  }
  const nodes = [1, 2].map((nodeId) => ({
    nodeId,
    async produce (/** @type {{ topicData: { partitions: Part[] }[] }} */ { topicData: [{ partitions }] }) {
      await null
      answers(nodeId)
      if (partitions.some(({ partition }) => leaders[partition] !== nodeId)) refuses()
      // it has what it has had before
      for (const { partition, messages, firstSequence } of partitions)
        if (firstSequence === log[partition].length) log[partition].push(...messages.map(({ value }) => String(value)))
      return { topics: [{ topicName: 'a', partitions: partitions.map(({ partition }) => ({ partition })) }] }
    }
  }))
  const cluster = {
    targetTopics: new Set(), isConnected: () => true, removeBroker () {},
    async refreshMetadataIfNecessary () {}, async addMultipleTargetTopics () {},
    async refreshMetadata () { metadata = { ...leaders } },
    findTopicPartitionMetadata: () => Object.entries(metadata)
      .map(([partitionId, leader]) => ({ partitionId: Number(partitionId), leader })),
    findLeaderForPartitions (/** @type {string} */ _, /** @type {string[]} */ partitions) {
      /** @type {Record<number, string[]>} */
      const byLeader = {}
      for (const partition of partitions) (byLeader[metadata[Number(partition)]] ??= []).push(partition)
      return byLeader
    },
    findBroker: async (/** @type {{ nodeId: string }} */ { nodeId }) => nodes[Number(nodeId) - 1]
  }
  const eosManager = {
    isTransactional: () => false, getProducerId: () => 1, getProducerEpoch: () => 0,
    async acquireBrokerLock () {}, async releaseBrokerLock () {},
    getSequence: (/** @type {string} */ _, /** @type {number} */ partition) => sequences.get(partition) ?? 0,
    updateSequence (/** @type {string} */ _, /** @type {number} */ partition, /** @type {number} */ by) {
      sequences.set(partition, (sequences.get(partition) ?? 0) + by)
    }
  }
  const logger = { debug () {}, error () {} }
  const kafka = /** @type {any} */ ({
    admin: () => ({ async connect () { throw new Error('none') }, async disconnect () {} }),
    producer: (/** @type {any} */ { createPartitioner }) => {
      const sendMessages = createSendMessages({
        logger, cluster, eosManager, partitioner: createPartitioner(),
        retrier: createRetry({ retries: 2, initialRetryTime: 1, maxRetryTime: 2 })
      })
      return {
        async connect () {},
        send: (/** @type {any} */ { acks, ...topicMessages }) => sendMessages({ acks, topicMessages: [topicMessages] })
      }
    }
  })
  return {
    log, leaders, refuses,
    producer: await connectProducer(kafka, 'a', manualClock()),
    /** @param {(nodeId: number) => void} run */
    before (run) { answers = run },
    async learns () { await cluster.refreshMetadata() }
  }
}

const message = (/** @type {number} */ partition, /** @type {string} */ value) =>
  ({ key: null, value: Buffer.from(value), headers: {}, partition })

test('a partition whose leader moves to a broker that has answered already is written', async () => {
  const { log, leaders, refuses, producer, before } = await brokers()
  before((nodeId) => {
    if (nodeId === 1) return
    leaders[1] = 1
    refuses()
  })
  assert.equal(await producer.send([message(0, 'r0'), message(1, 'r1')]), undefined)
  assert.deepEqual(log, { 0: ['r0'], 1: ['r1'] })
})

test('what a broker has written is not sent again because another one failed', async () => {
  const { log, refuses, producer, before } = await brokers()
  let failing = true
  before((nodeId) => { if (nodeId === 2 && failing) refuses() })
  const messages = [message(0, 'r0'), message(1, 'r1'), message(0, 'r2')]
  const failure = await producer.send(messages)
  assert.equal(failure?.rejected, false)
  failing = false
  assert.equal(await producer.send(messages), undefined)
  assert.deepEqual(log, { 0: ['r0', 'r2'], 1: ['r1'] })
})

test('records are distributed again when partitions of one broker get different leaders', async () => {
  const { log, leaders, producer, before, learns } = await brokers()
  leaders[1] = 1
  await learns()
  assert.equal(await producer.send([message(0, 'r0'), message(1, 'r1')]), undefined)
  leaders[1] = 2
  before((nodeId) => { if (nodeId === 2) before(() => {}) })
  assert.equal(await producer.send([message(0, 'r2'), message(1, 'r3')]), undefined)
  assert.deepEqual(log, { 0: ['r0', 'r2'], 1: ['r1', 'r3'] })
})
