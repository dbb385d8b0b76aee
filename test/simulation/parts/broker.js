import { createDriver } from './kafka/driver.js'
import { KafkaError } from './kafka/errors.js'
import { Fetches } from './kafka/fetches.js'
import { Group } from './kafka/group.js'
import { Link } from './kafka/link.js'
import { SimPartition } from './kafka/partition.js'
import { Services } from './kafka/services.js'

/** Latencies, ms: to processes of the cluster, and to services far away. */
const LATENCY = { cluster: 0.4, client: 8 }
/** Within this time a consumer that gets no records is replaced, if no fault hinders it, ms. */
const REPLACED = 45_000
/** Time until the broker's process is started again, ms. */
const RESTART = { least: 1000, most: 5000 }

/**
 * @typedef {import('../world/sim-process.js').SimProcess} SimProcess
 * @typedef {import('./kafka/services.js').ServiceMessage} ServiceMessage
 *
 * @typedef {object} Topic
 * @property {string} name
 * @property {string} id
 * @property {SimPartition[]} partitions
 * @property {number} maxBytes
 * @property {number} minInSync
 */

/**
 * A simulated Kafka, at the level of src/kafka/contract.js: topics, groups, idempotent producers, and faults. All that
 * it does begins with an event of the world; all that a process gets from it comes in a turn of that process.
 */
export class Broker {
  /** @type {Map<string, Topic>} */
  topics = new Map()
  /** @type {Map<string, Group>} */
  #groups = new Map()
  /** Those that were not closed. @type {Set<import('./kafka/subscription.js').SimSubscription>} */
  subscriptions = new Set()
  /** Requests without an answer. @type {Map<SimProcess, Set<import('./kafka/call.js').Call<any>>>} */
  calls = new Map()
  #awayUntil = 0
  #healedAt = 0
  /** While it is unavailable: requests get no answer, rather than being refused. */
  isSilent = false
  #services
  #starts = 0
  /** Keys and values of lost records. @type {Set<string>} */
  #lost = new Set()
  /** Faults that happened, by name. @type {Map<string, number>} */
  counts = new Map()

  /**
   * @param {import('../world/world.js').World} world
   * @param {{ nodes?: number }} [options] nodes: brokers of the cluster, which fail together here
   */
  constructor (world, { nodes = 3 } = {}) {
    this.world = world
    this.nodes = nodes
    this.random = world.random.fork()
    this.fetches = new Fetches(this)
    this.#services = new Services(this)
    this.machine = { name: 'kafka', step: 0 }
    this.process = this.#begin()
  }

  /** @returns {SimProcess} that holds what the broker does: it can be paused and killed as others */
  #begin () {
    const process = this.world.process(this.#starts++ === 0 ? 'kafka' : `kafka.${this.#starts}`, this.machine)
    process.onEnd(() => {
      this.away(this.random.whole(RESTART.least, RESTART.most), { isSilent: false })
      this.process = this.#begin()
    })
    return process
  }

  /** @param {SimProcess} process @returns {import('../../../src/kafka/contract.js').KafkaDriver} */
  driver (process) { return createDriver(this, process) }

  /** @param {SimProcess} process @returns {Link} a connection of its own */
  link (process) {
    if (!this.calls.has(process)) {
      this.calls.set(process, new Set())
      process.onEnd(() => { this.calls.delete(process) })
    }
    return new Link(this, process)
  }

  /** @param {SimProcess} process @returns {number} ms */
  latency (process) { return this.random.duration(process.isClient ? LATENCY.client : LATENCY.cluster) }

  get isAway () { return this.world.time < this.#awayUntil || this.process.isPaused }

  /** @param {number} partition @returns {number} node of its leader */
  nodeOf (partition) { return partition % this.nodes }

  /** @param {string} id */
  group (id) {
    const found = this.#groups.get(id) ?? new Group(this)
    this.#groups.set(id, found)
    return found
  }

  /** @param {string} name @param {{ partitions: number, maxBytes?: number, minInSync?: number }} options */
  create (name, { partitions, maxBytes = 2 ** 20, minInSync = 1 }) {
    this.topics.set(name, {
      name,
      id: this.random.uuid(),
      partitions: Array.from({ length: partitions }, (_, number) => new SimPartition(number, maxBytes)),
      maxBytes, minInSync
    })
    this.fetches.wake(name)
  }

  /** @param {string} name @returns {Topic} @throws {KafkaError} */
  topic (name) {
    const found = this.topics.get(name)
    if (found === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    return found
  }

  /** @param {string} topic @param {number} number @returns {SimPartition} @throws {KafkaError} it has no leader */
  led (topic, number) {
    const partition = this.topic(topic).partitions[number]
    if (partition === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    if (this.world.time < partition.leaderlessUntil) throw new KafkaError('NOT_LEADER_FOR_PARTITION')
    return partition
  }

  /**
   * @param {string} topic
   * @param {number} number of the partition
   * @param {object} write
   * @param {import('./kafka/partition.js').NewRecord[]} write.batch
   * @param {import('./kafka/partition.js').Sequence} [write.sequence]
   * @returns {number} offset of its first record
   * @throws {KafkaError}
   */
  append (topic, number, { batch, sequence }) {
    const partition = this.led(topic, number)
    const { end } = partition
    const offset = partition.append(batch, sequence)
    if (partition.end === end) return offset
    for (const { value } of batch) if (value !== null) this.world.trace.bytes(value)
    this.fetches.wake(topic)
    return offset
  }

  /**
   * A service sends records until they are acknowledged, in the order of the calls.
   * @param {SimProcess} process
   * @param {string} topic
   * @param {ServiceMessage[]} messages
   * @returns {Promise<import('./kafka/producer.js').Place[]>} in a turn of the process; rejects when the topic refuses
   */
  produce (process, topic, messages) { return this.#services.produce(process, topic, messages) }

  // faults

  /** @param {string} fault */
  count (fault) { this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1) }

  /** @param {string} fault @param {string} details */
  #tell (fault, details) {
    this.count(fault)
    this.world.trace.note(this.world.time, `${fault} ${details}`, this.process)
  }

  /**
   * Each call fails. Writes may be carried out nevertheless, and their answers are lost.
   * @param {number} ms
   * @param {{ isSilent?: boolean }} [options] default: drawn
   */
  away (ms, { isSilent = this.random.chance(0.5) } = {}) {
    this.#tell('away', `for ${ms} ms${isSilent ? ', silently' : ''}`)
    this.#awayUntil = Math.max(this.#awayUntil, this.world.time + ms)
    this.isSilent = isSilent
    this.fetches.drop()
    for (const calls of this.calls.values()) for (const call of calls) call.cut(!isSilent)
  }

  /** Ends each fault that lasts. */
  heal () {
    this.#healedAt = this.world.time
    this.#awayUntil = Math.min(this.#awayUntil, this.world.time)
    this.fetches.slow(0, 0)
    this.#services.twice = 0
    this.process.resume()
  }

  /** @param {string} [groupId] default: all of them */
  rebalance (groupId) {
    this.#tell('rebalance', groupId ?? 'of all groups')
    for (const [id, group] of this.#groups) if (groupId === undefined || id === groupId) group.rebalance()
  }

  /**
   * A consumer of the topic gets no record any more, and notices nothing.
   * @param {string} topic
   * @param {import('../world/random.js').SeededRandom} drawn
   * @returns {SimProcess | undefined} whose consumer it is
   */
  wedge (topic, drawn) {
    const running = [...this.subscriptions].filter((one) => one.topic === topic && one.link.process.isAlive)
    if (running.length === 0) return undefined
    const wedged = drawn.pick(running)
    wedged.wedgedAt = this.world.time
    this.world.expected.add('the consumer delivers none').add('the Kafka consumer failed and is replaced')
    return wedged.link.process
  }

  /** @param {import('./kafka/subscription.js').SimSubscription} subscription */
  closed (subscription) {
    const { link: { process }, wedgedAt } = subscription
    this.subscriptions.delete(subscription)
    if (wedgedAt === undefined) return
    const ms = this.world.time - Math.max(wedgedAt, this.#healedAt)
    if (ms > REPLACED) this.world.violation(`${process.name} kept a consumer that got no records, for ${ms / 1000} s`)
  }

  /** The next batches of services are written twice, with other offsets. @param {number} [batches] */
  duplicate (batches = 1) { this.#services.twice += batches }

  /**
   * The partition gets another leader, which does not have its last records.
   * @param {string} topic
   * @param {number} number of the partition
   * @param {number} count of records; 0: a clean election
   */
  loseEnd (topic, number, count) {
    const partition = this.topics.get(topic)?.partitions[number]
    if (partition === undefined) return
    this.#tell(count > 0 ? 'lost end' : 'election', `${topic}/${number} from ${partition.end} by ${count}`)
    if (count > 0) this.world.expected.add('a partition lost its end')
    partition.elect(count)
    for (const { key, value } of partition.lost) this.#lost.add(`${key} ${value}`)
    partition.leaderlessUntil = this.world.time + this.random.whole(0, 500)
    this.fetches.wake(topic)
  }

  /**
   * The first records of a partition are deleted, as when they are older than their topic keeps them.
   * @param {string} topic
   * @param {number} number of the partition
   * @param {number} count of records
   */
  expire (topic, number, count) {
    const partition = this.topics.get(topic)?.partitions[number]
    if (partition === undefined) return
    this.#tell('expiry', `of ${count} records of ${topic}/${number}`)
    partition.expire(count)
  }

  /** @param {string} key @param {string} value @returns {boolean} whether such a record was written, and lost */
  hasLost (key, value) { return this.#lost.has(`${key} ${value}`) }

  /** The topic is deleted; what groups have committed for it may stay. @param {string} name */
  delete (name) {
    this.#tell('deleted topic', name)
    this.world.expected.add('was deleted and created again').add(`Kafka has no topic ${name}`)
    // also what no group had read; which records those are, a reader alone knows
    for (const { records } of this.topics.get(name)?.partitions ?? [])
      for (const { key, value } of records) this.#lost.add(`${key} ${value}`)
    this.topics.delete(name)
    if (this.random.chance(0.5)) for (const group of this.#groups.values()) group.committed.delete(name)
    this.fetches.wake(name)
  }

  /**
   * The topic is deleted and created again, with as many partitions.
   * @param {string} name
   * @param {number} [ms] between
   */
  recreate (name, ms = this.random.whole(0, 2000)) {
    const before = this.topics.get(name)
    if (before === undefined) return
    this.delete(name)
    this.world.schedule(ms, 'kafka topic', () => {
      if (!this.topics.has(name)) this.create(name, { ...before, partitions: before.partitions.length })
    }, null)
  }

  /** @param {number} ms @param {number} by answers to fetches are late by up to this, ms */
  slowFetches (ms, by) {
    this.#tell('slow fetches', `for ${ms} ms, by up to ${by} ms`)
    this.fetches.slow(ms, by)
  }
}
