import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { waitFor } from '../helpers/wait.js'
import { Broker } from '../simulation/parts/broker.js'
import { World } from '../simulation/world/world.js'
import { kafkaContract } from './kafka.js'

/** Virtual time that passes at once, and the pause after it, in which the tests look, ms. */
const STEP = 20
const PAUSE = 2

/** By its settings, as a driver for real brokers finds its own. @type {WeakMap<object, Broker>} */
const brokers = new WeakMap()
let seed = 0

/** A world whose time passes as long as the test runs: the suite waits in real time. */
function openWorld () {
  const world = new World(++seed)
  const broker = new Broker(world, { nodes: 1 })
  let isOver = false
  const pumping = (async () => {
    while (!isOver) {
      await world.run(world.time + STEP)
      await delay(PAUSE)
    }
  })()
  const close = async () => {
    isOver = true
    await pumping
    assert.deepEqual(world.violations, [])
  }
  return { world, broker, close }
}

/** @type {import('./kafka.js').OpenKafka} */
async function simulatedKafka (t, { partitions = 4, topics = true }) {
  const { world, broker, close } = openWorld()
  /** @type {(() => unknown)[]} */
  const ends = [close]
  t.after(async () => { for (const end of ends.reverse()) await end() })
  const settings = { brokers: ['kafka:9092'] }
  brokers.set(settings, broker)
  const names = { downlinkTopic: 'downlink', uplinkTopic: 'uplink', deadLetterTopic: 'dead-letter', groupId: 'group' }
  if (topics) for (const name of ['downlink', 'uplink', 'dead-letter']) broker.create(name, { partitions })
  const service = world.process('service', { name: 'service', step: 0 })
  return /** @type {any} */ ({
    ...names, settings, log: undefined,
    client: clientOf(broker),
    /** @param {() => unknown} end */
    onEnd (end) { ends.push(end) },
    /** @param {import('../simulation/parts/kafka/services.js').ServiceMessage[]} messages */
    produce: (messages, topic = names.downlinkTopic) => broker.produce(service, topic, messages),
    /** @param {string} topic @param {number} count */
    readAll: (topic, count) => waitFor(() => {
      const all = recordsOf(broker, topic)
      return all.length >= count && all
    })
  })
}

/** @param {Broker} broker @param {string} topic */
const recordsOf = (broker, topic) => broker.topic(topic).partitions.flatMap(({ number, records }) =>
  records.map(({ key, value, offset, headers = {} }) => ({
    partition: number,
    offset: Number(offset),
    key: key === null ? null : String(key),
    value,
    headers: Object.fromEntries(Object.entries(headers).map(([name, held]) => [name, String(held)]))
  })))

/** The few calls of a client of kafkajs by which the suite prepares a broker. @param {Broker} broker */
const clientOf = (broker) => ({
  admin: () => ({
    async connect () {},
    async disconnect () {},
    /** @param {{ topics: string[] }} options */
    fetchTopicMetadata: async ({ topics }) => ({ topics: topics.map((name) => broker.topic(name)) }),
    /** @param {{ topics: string[] }} options */
    deleteTopics: async ({ topics }) => { for (const topic of topics) broker.delete(topic) },
    /** @param {{ topics: { topic: string, numPartitions: number, configEntries: { value: string }[] }[] }} options */
    async createTopics ({ topics }) {
      for (const { topic, numPartitions: partitions, configEntries: [{ value }] } of topics)
        broker.create(topic, { partitions, minInSync: Number(value) })
    }
  }),
  // what a transaction has written is not read before its end, and then a marker follows it
  producer: () => ({
    async connect () {},
    async disconnect () {},
    async transaction () {
      /** @type {{ topic: string, messages: { value: string, partition?: number }[] }} */
      let sent
      const end = (/** @type {boolean} */ isAborted) => {
        for (const { value, partition = 0 } of sent.messages) {
          const log = broker.topic(sent.topic).partitions[partition]
          if (isAborted) log.mark()
          else log.append([{ key: null, value: Buffer.from(value), headers: {}, timestamp: 0 }])
          log.mark()
        }
      }
      return {
        send: async (/** @type {typeof sent} */ batch) => { sent = batch },
        commit: async () => end(false),
        abort: async () => end(true)
      }
    }
  })
})

kafkaContract('simulated', ({ settings }) => {
  const broker = brokers.get(settings) ?? unavailable()
  return broker.driver(broker.world.process('process', { name: 'machine', step: 0 }))
}, simulatedKafka)

/** A broker that never responds: its world ends when nothing is left to do. */
function unavailable () {
  const { broker, world, close } = openWorld()
  broker.away(60_000, { isSilent: false })
  waitFor(() => world.time > 5000).then(close)
  return broker
}
