import { FETCH, fetchRequests } from './fetch-protocol.js'

/**
 * Fetches for kafkajs as long as nothing has changed since kafkajs's own fetch: metadata, assignment, committed
 * offsets, seeks, paused partitions, preferred replicas. This is the normal case, and kafkajs's repeated checks cost
 * more than a record. All other cases are left to kafkajs.
 */

/**
 * The parts of kafkajs that are used here: src/consumer/consumerGroup.js, src/cluster, src/network/connection.js.
 *
 * @typedef {object} ConsumerGroup
 * @property {{ brokerPool: BrokerPool }} cluster
 * @property {SubscriptionState} subscriptionState
 * @property {{ committedOffsets: () => Record<string, Record<number, string>>, resolvedOffsets: Record<string,
 *   Record<number, string>> }} offsetManager
 * @property {Map<string, string> & { has: (topic: string, partition: number) => boolean }} seekOffset
 * @property {Record<string, Record<number, unknown> | undefined>} preferredReadReplicasPerTopicPartition
 * @property {(nodeId: number, assigned: Assigned[]) => Assigned[]} filterPartitionsByNode
 * @property {(error: any) => Promise<void>} recoverFromFetch
 * @property {number} maxWaitTime ms
 * @property {number} minBytes
 * @property {number} maxBytes
 * @property {number} maxBytesPerPartition
 * @property {number} isolationLevel
 * @property {string} rackId
 *
 * @typedef {{ topic: string, partitions: number[] }} Assigned
 * @typedef {{ metadata: object | null, metadataExpireAt: number | null, brokers: Record<number, Broker | undefined> }}
 *   BrokerPool
 *
 * @typedef {object} SubscriptionState
 * @property {Record<string, Assigned>} assignedPartitionsByTopic
 * @property {Record<string, { paused: Set<number>, pauseAll: boolean } | undefined>} subscriptionStatesByTopic
 * @property {() => Assigned[]} assigned
 * @property {(topic: string, partition: number) => boolean} isPaused
 *
 * @typedef {object} Broker
 * @property {() => boolean} isConnected
 * @property {() => Promise<void>} disconnect
 * @property {Record<number, { minVersion: number, maxVersion: number } | undefined> | null} versions by request
 * @property {{ pool: Connection[] }} connectionPool
 *
 * @typedef {object} Connection
 * @property {string} clientId
 * @property {unknown} sasl
 * @property {() => boolean} isConnected
 * @property {() => boolean} isAuthenticated
 * @property {() => number} nextCorrelationId
 * @property {{ write: (bytes: Buffer) => void }} socket
 * @property {{ push: (request: object) => void, maybeThrottle: (ms: number) => void }} requestQueue
 *
 * @typedef {import('./fetch-protocol.js').FetchResponse} FetchResponse
 * @typedef {import('./fetch-protocol.js').FetchedPartition} FetchedPartition
 *
 * @typedef {object} Plan of the requests to one broker, valid as long as these three are the same objects
 * @property {object | null} metadata
 * @property {object} assignment
 * @property {object} offsetManager
 * @property {string} topic
 * @property {number[]} partitions
 * @property {ReturnType<typeof fetchRequests> | undefined} requestOf made with the first request
 */

/** Network time added to the time for which a broker holds a request, as in kafkajs, ms. */
const NETWORK_DELAY = 100
/** Connection of the pool for fetches: brokers hold them, and other requests would wait behind them. */
const FETCH_CONNECTION = 1

/** @type {WeakMap<ConsumerGroup, Map<number, Plan>>} by group and broker */
const plans = new WeakMap()

/**
 * @param {object} kafkajs
 * @param {(this: ConsumerGroup, nodeId: number) => Promise<object[]>} kafkajs.stock its fetch
 * @param {new (topic: string, fetchedOffset: string, data: FetchedPartition) => object} kafkajs.Batch
 * @param {{ decode: (payload: Buffer) => Promise<FetchResponse>, parse: (response: FetchResponse) =>
 *   Promise<FetchResponse> }} kafkajs.response parse: throws the error of a partition's error code
 * @returns {(this: ConsumerGroup, nodeId: number) => Promise<object[]>}
 */
export function fetchWith ({ stock, Batch, response }) {
  /** @param {FetchedPartition} data @param {string} topic @param {number} fetchedOffset */
  function batchOf (data, topic, fetchedOffset) {
    const { messages } = data
    if (messages.length === 0 || data.abortedTransactions.length > 0 || Number(messages[0].offset) < fetchedOffset)
      return new Batch(topic, String(fetchedOffset), data)
    // no record has to be left out; to check that, kafkajs would convert each offset to a BigInt
    return Object.assign(new Batch(topic, String(fetchedOffset), { ...data, messages: [] }), {
      rawMessages: messages,
      messagesWithinOffset: messages,
      messages: messages.some(({ isControlRecord }) => isControlRecord)
        ? messages.filter(({ isControlRecord }) => !isControlRecord)
        : messages
    })
  }

  return async function fetch (nodeId) {
    const plan = planOf(this, nodeId)
    const offsets = plan && nextOffsets(this, plan)
    const broker = this.cluster.brokerPool.brokers[nodeId]
    const connection = broker && connectionTo(broker)
    if (plan === undefined || offsets === undefined || broker === undefined || connection === undefined)
      return learn(this, nodeId, () => stock.call(this, nodeId))
    const { topic, partitions } = plan
    try {
      const payload = await ask(this, plan, connection, offsets)
      const decoded = await response.decode(payload)
      connection.requestQueue.maybeThrottle(decoded.clientSideThrottleTime)
      const { responses } = await response.parse(decoded)
      /** @type {object[]} */
      const batches = []
      for (const { partitions: fetched } of responses) {
        for (const data of fetched) {
          const { partition, preferredReadReplica } = data
          if (preferredReadReplica !== -1) plans.get(this)?.delete(nodeId) // kafkajs's own fetch handles it
          if (
            (this.seekOffset.size > 0 && this.seekOffset.has(topic, partition)) ||
            this.subscriptionState.isPaused(topic, partition)
          )
            continue
          batches.push(batchOf(data, topic, offsets[partitions.indexOf(partition)]))
        }
      }
      return batches
    } catch (error) {
      plans.get(this)?.delete(nodeId)
      if (/** @type {Error} */ (error).name === 'KafkaJSConnectionClosedError') await broker.disconnect()
      await this.recoverFromFetch(error)
      return []
    }
  }
}

/**
 * Lets kafkajs fetch, and makes a plan of its state unless that has changed meanwhile.
 * @param {ConsumerGroup} group
 * @param {number} nodeId
 * @param {() => Promise<object[]>} fetch
 */
async function learn (group, nodeId, fetch) {
  const { cluster: { brokerPool }, subscriptionState } = group
  const { metadata } = brokerPool
  const assignment = subscriptionState.assignedPartitionsByTopic
  const { offsetManager } = group
  const batches = await fetch()
  if (
    metadata === null ||
    metadata !== brokerPool.metadata ||
    assignment !== subscriptionState.assignedPartitionsByTopic ||
    offsetManager !== group.offsetManager
  )
    return batches
  const found = group.filterPartitionsByNode(nodeId, subscriptionState.assigned())
  if (found.length !== 1 || found[0].partitions.length === 0) return batches
  let own = plans.get(group)
  if (own === undefined) plans.set(group, own = new Map())
  own.set(nodeId, { metadata, assignment, offsetManager, ...found[0], requestOf: undefined })
  return batches
}

/**
 * @param {ConsumerGroup} group
 * @param {number} nodeId
 * @returns {Plan | undefined} undefined: there is none, or the state has changed
 */
function planOf (group, nodeId) {
  const plan = plans.get(group)?.get(nodeId)
  if (plan === undefined) return undefined
  const { cluster: { brokerPool }, subscriptionState, offsetManager, seekOffset } = group
  const state = subscriptionState.subscriptionStatesByTopic[plan.topic]
  const settled =
    brokerPool.metadata === plan.metadata &&
    brokerPool.metadataExpireAt !== null &&
    Date.now() <= brokerPool.metadataExpireAt &&
    subscriptionState.assignedPartitionsByTopic === plan.assignment &&
    offsetManager === plan.offsetManager &&
    seekOffset.size === 0 &&
    (state === undefined || (state.paused.size === 0 && !state.pauseAll)) &&
    isEmpty(group.preferredReadReplicasPerTopicPartition[plan.topic])
  return settled ? plan : undefined
}

/**
 * @param {ConsumerGroup} group
 * @param {Plan} plan
 * @returns {number[] | undefined} undefined: an offset is unknown
 */
function nextOffsets ({ offsetManager }, { topic, partitions }) {
  const committed = offsetManager.committedOffsets()[topic]
  const resolved = offsetManager.resolvedOffsets[topic]
  const offsets = []
  for (const partition of partitions) {
    const offset = Number(resolved[partition] || committed[partition])
    if (committed[partition] === undefined || !(offset >= 0)) return undefined
    offsets.push(offset)
  }
  return offsets
}

/**
 * @param {Broker} broker
 * @returns {Connection | undefined} undefined: it is not open yet, or the broker uses another version
 */
function connectionTo (broker) {
  const connection = broker.connectionPool.pool[FETCH_CONNECTION]
  const speaks = broker.versions?.[FETCH.apiKey]
  if (speaks === undefined || speaks.minVersion > FETCH.apiVersion || speaks.maxVersion < FETCH.apiVersion)
    return undefined
  return broker.isConnected() && connection.isConnected() && (!connection.sasl || connection.isAuthenticated())
    ? connection
    : undefined
}

/**
 * @param {ConsumerGroup} group
 * @param {Plan} plan
 * @param {Connection} connection
 * @param {number[]} offsets
 * @returns {Promise<Buffer>}
 */
async function ask (group, plan, connection, offsets) {
  const { topic, partitions } = plan
  const { maxWaitTime, minBytes, maxBytes, maxBytesPerPartition, isolationLevel, rackId } = group
  plan.requestOf ??= fetchRequests({
    clientId: connection.clientId,
    topic, partitions, maxWaitTime, minBytes, maxBytes, maxBytesPerPartition, isolationLevel, rackId
  })
  const correlationId = connection.nextCorrelationId()
  const request = plan.requestOf(correlationId, offsets, Math.floor(Math.random() * partitions.length))
  const { payload } = await new Promise((resolve, reject) => connection.requestQueue.push({
    entry: { ...FETCH, correlationId, resolve, reject },
    expectResponse: true,
    requestTimeout: maxWaitTime + NETWORK_DELAY,
    sendRequest: () => connection.socket.write(request)
  }))
  return payload
}

/** @param {object | undefined} object */
function isEmpty (object) {
  for (const _key in object) return false
  return true
}
