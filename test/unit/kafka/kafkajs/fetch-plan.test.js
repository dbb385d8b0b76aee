import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { fetchWith } from '../../../../src/kafka/kafkajs/fetch-plan.js'

const Batch = createRequire(import.meta.url)('kafkajs/src/consumer/batch')

const TOPIC = 'documents'

/** @param {string} offset @param {boolean} [isControlRecord] */
const messageOf = (offset, isControlRecord = false) => ({
  offset,
  isControlRecord,
  key: null,
  value: Buffer.from('v'),
  batchContext: { producerId: '1', inTransaction: false }
})

/** @param {object} data */
const partitionOf = (data) => ({
  partition: 0,
  errorCode: 0,
  highWatermark: '20',
  abortedTransactions: [],
  preferredReadReplica: -1,
  messages: [],
  ...data
})

/**
 * kafkajs's consumer group, with a broker that responds with `answer`.
 * @param {{ answer?: () => object[] }} [options]
 */
function openGroup ({ answer = () => [] } = {}) {
  const seen = { stock: 0, asked: /** @type {Buffer[]} */ ([]), recovered: /** @type {any[]} */ ([]), throttled: 0 }
  const connection = {
    clientId: 'c',
    sasl: undefined,
    isConnected: () => true,
    isAuthenticated: () => true,
    nextCorrelationId: () => 1,
    socket: { write: (/** @type {Buffer} */ bytes) => seen.asked.push(bytes) },
    requestQueue: {
      push (
        /** @type {{ sendRequest: () => void, entry: { resolve: (answer: object) => void } }} */ { sendRequest, entry }
      ) {
        sendRequest()
        setImmediate(() => entry.resolve({ payload: Buffer.alloc(0) }))
      },
      maybeThrottle: (/** @type {number} */ ms) => {
        seen.throttled += ms
      }
    }
  }
  const group = /** @type {any} */ ({
    cluster: {
      brokerPool: {
        metadata: {},
        metadataExpireAt: Date.now() + 60_000,
        brokers: {
          1: {
            isConnected: () => true,
            disconnect: async () => {},
            versions: { 1: { minVersion: 4, maxVersion: 17 } },
            connectionPool: { pool: [undefined, connection] }
          }
        }
      }
    },
    subscriptionState: {
      assignedPartitionsByTopic: { [TOPIC]: { topic: TOPIC, partitions: [0, 1] } },
      subscriptionStatesByTopic: /** @type {Record<string, { paused: Set<number> }>} */ ({}),
      assigned () {
        return Object.values(this.assignedPartitionsByTopic)
      },
      isPaused (/** @type {string} */ topic, /** @type {number} */ partition) {
        return this.subscriptionStatesByTopic[topic]?.paused.has(partition) ?? false
      }
    },
    offsetManager: {
      committed: { [TOPIC]: { 0: '3', 1: '5' } },
      resolvedOffsets: { [TOPIC]: { 1: '9' } },
      committedOffsets () {
        return this.committed
      }
    },
    seekOffset: new Map(),
    preferredReadReplicasPerTopicPartition: {},
    filterPartitionsByNode: (/** @type {number} */ _nodeId, /** @type {object[]} */ assigned) => assigned,
    recoverFromFetch: async (/** @type {unknown} */ error) => {
      seen.recovered.push(error)
    },
    maxWaitTime: 500,
    minBytes: 1,
    maxBytes: 100,
    maxBytesPerPartition: 10,
    isolationLevel: 1,
    rackId: ''
  })
  const fetch = fetchWith({
    stock: async () => {
      seen.stock++
      return []
    },
    Batch,
    response: {
      decode: async () =>
        /** @type {any} */ ({ clientSideThrottleTime: 2, responses: [{ topicName: TOPIC, partitions: answer() }] }),
      parse: async (data) => data
    }
  })
  return { group, seen, connection, fetch: () => /** @type {Promise<any[]>} */ (fetch.call(group, 1)) }
}

test('the first fetch is kafkajs\'s own, and the next ones request the same partitions', async () => {
  const { seen, fetch } = openGroup()
  await fetch()
  assert.deepEqual([seen.stock, seen.asked.length], [1, 0])
  await fetch()
  await fetch()
  assert.deepEqual([seen.stock, seen.asked.length, seen.throttled], [1, 2, 4])
  const text = seen.asked[1].toString('hex')
  // the committed offset of partition 0, the resolved one of partition 1
  for (const part of ['00000000ffffffff0000000000000003', '00000001ffffffff0000000000000009'])
    assert.ok(text.includes(part), text)
})

describe('kafkajs fetches by itself when', () => {
  /** @type {Record<string, (group: any, connection: any) => void>} */
  const changes = {
    'metadata is new': ({ cluster }) => {
      cluster.brokerPool.metadata = {}
    },
    'metadata is too old': ({ cluster }) => {
      cluster.brokerPool.metadataExpireAt = Date.now() - 1
    },
    'the group has assigned other partitions': ({ subscriptionState }) => {
      subscriptionState.assignedPartitionsByTopic = { [TOPIC]: { topic: TOPIC, partitions: [0] } }
    },
    'it has joined its group again': (group) => {
      group.offsetManager = { ...group.offsetManager }
    },
    'a partition is paused': ({ subscriptionState }) => {
      subscriptionState.subscriptionStatesByTopic[TOPIC] = { paused: new Set([1]), pauseAll: false }
    },
    'a partition has a new position': ({ seekOffset }) => {
      seekOffset.set('["documents",0]', '0')
    },
    'an offset has to be requested': ({ offsetManager }) => {
      delete offsetManager.committed[TOPIC][1]
    },
    'another replica is nearer': (group) => {
      group.preferredReadReplicasPerTopicPartition[TOPIC] = { 0: { nodeId: 2 } }
    },
    'the connection has to be opened': (_group, connection) => {
      connection.isConnected = () => false
    },
    'the session has to be renewed': (_group, connection) =>
      Object.assign(connection, { sasl: {}, isAuthenticated: () => false }),
    'the broker speaks an older version': ({ cluster }) => {
      cluster.brokerPool.brokers[1].versions = { 1: { minVersion: 0, maxVersion: 10 } }
    }
  }
  for (const [name, change] of Object.entries(changes)) {
    test(name, async () => {
      const { group, seen, connection, fetch } = openGroup()
      await fetch()
      await fetch()
      change(group, connection)
      await fetch()
      assert.deepEqual([seen.stock, seen.asked.length], [2, 1])
    })
  }
})

test('a batch equals that of kafkajs', async () => {
  const messages = [messageOf('3'), messageOf('4'), messageOf('5', true)]
  const { fetch } = openGroup({ answer: () => [partitionOf({ messages })] })
  await fetch()
  const [own] = await fetch()
  const stock = new Batch(TOPIC, '3', partitionOf({ messages }))
  for (const method of ['isEmpty', 'isEmptyDueToFiltering', 'firstOffset', 'lastOffset', 'offsetLag', 'offsetLagLow'])
    assert.equal(own[method](), stock[method](), method)
  for (const property of ['topic', 'partition', 'highWatermark', 'fetchedOffset', 'messages'])
    assert.deepEqual(own[property], stock[property], property)
  assert.deepEqual([own.messages.length, own.lastOffset()], [2, '5'])
})

test('records before the requested offset are skipped', async () => {
  const { fetch } = openGroup({
    answer: () => [partitionOf({ messages: [messageOf('1'), messageOf('2'), messageOf('3')] })]
  })
  await fetch()
  const [{ messages }] = await fetch()
  assert.deepEqual(messages.map((/** @type {{ offset: string }} */ { offset }) => offset), ['3'])
})

test('a partition that was paused, or got a new position, while its records were in flight has none', async () => {
  const { group, fetch } = openGroup({
    answer: () => {
      group.subscriptionState.subscriptionStatesByTopic[TOPIC] = { paused: new Set([0]), pauseAll: false }
      return [partitionOf({ messages: [messageOf('3')] }), partitionOf({ partition: 1, messages: [messageOf('9')] })]
    }
  })
  await fetch()
  assert.deepEqual(
    (await fetch()).map(({ partition }) => partition),
    [1]
  )
})

test('kafkajs recovers from a failed fetch, and the next one is its own', async () => {
  const { seen, fetch } = openGroup({ answer: () => { throw new Error('the broker is gone') } })
  await fetch()
  assert.deepEqual(await fetch(), [])
  assert.deepEqual(seen.recovered.map(({ message }) => message), ['the broker is gone'])
  await fetch()
  assert.equal(seen.stock, 2)
})
