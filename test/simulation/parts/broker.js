import { createDriver } from './kafka/driver.js'
import { KafkaError } from './kafka/errors.js'
import { Group } from './kafka/group.js'
import { Link } from './kafka/link.js'
import { SimPartition } from './kafka/partition.js'
import { SimProducer, recordOf } from './kafka/producer.js'

/** Latencies, ms: to processes of the cluster, and to services far away. */
const LATENCY = { cluster: 0.4, client: 8 }
/** Limits of one partition in one fetch. */
const FETCH = { records: 500, bytes: 2 ** 20 }
/** Time until the broker's process is started again, ms. */
const RESTART = { least: 1000, most: 5000 }
/** Pauses of a service that sends again what was not acknowledged, ms. */
const SERVICE_PAUSE = 200

/**
 * @typedef {import('../world/sim-process.js').SimProcess} SimProcess
 * @typedef {import('../../../src/kafka/contract.js').OutgoingMessage} OutgoingMessage
 * @typedef {import('./kafka/partition.js').StoredRecord} StoredRecord
 *
 * @typedef {import('../../../src/kafka/contract.js').Fetched} FetchedBatch
 *
 * @typedef {object} Topic
 * @property {string} name
 * @property {string} id
 * @property {SimPartition[]} partitions
 * @property {number} maxBytes
 * @property {number} minInSync
 *
 * A fetch that waits for records. @typedef {object} Waiter
 * @property {string} topic
 * @property {() => boolean} look answers if there is something to answer
 *
 * @typedef {object} ServiceProducer
 * @property {SimProducer} producer
 * @property {Promise<unknown>} last batch
 *
 * @typedef {Partial<Omit<OutgoingMessage, 'value'>> & { value: Buffer | string | null }} ServiceMessage
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
  /** @type {Set<import('./kafka/link.js').Call>} */
  calls = new Set()
  /** @type {Set<Waiter>} */
  #waiters = new Set()
  #awayUntil = 0
  /** While it is unavailable: requests get no answer, rather than being refused. */
  isSilent = false
  #slowUntil = 0
  #slowBy = 0
  /** Batches of services that will be written twice. */
  #twice = 0
  /** By process and topic. @type {WeakMap<SimProcess, Map<string, ServiceProducer>>} */
  #services = new WeakMap()
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
    this.machine = { name: 'kafka', step: 0 }
    this.process = this.#begin()
  }

  /** @returns {SimProcess} that holds what the broker does: it can be paused and killed as others */
  #begin () {
    const process = this.world.process('kafka', this.machine)
    process.onEnd(() => {
      this.away(this.random.whole(RESTART.least, RESTART.most), { isSilent: false })
      this.process = this.#begin()
    })
    return process
  }

  /** @param {SimProcess} process @returns {import('../../../src/kafka/contract.js').KafkaDriver} */
  driver (process) { return createDriver(this, process) }

  /** @param {SimProcess} process */
  link (process) { return new Link(this, process) }

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
    this.#wake(name)
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
    this.#wake(topic)
    return offset
  }

  /** @param {string} topic */
  #wake (topic) {
    for (const waiter of [...this.#waiters]) if (waiter.topic === topic && waiter.look()) this.#waiters.delete(waiter)
  }

  /**
   * @param {string} topic
   * @param {{ partition: number, offset: number }[]} wanted
   * @param {number} maxWait ms
   * @param {import('./kafka/link.js').Reply<FetchedBatch[]>} reply
   */
  fetch (topic, wanted, maxWait, reply) {
    const { world } = this
    const slow = world.time < this.#slowUntil ? this.random.number() * this.#slowBy : 0
    /** @param {KafkaError | undefined} error @param {FetchedBatch[]} batches */
    const answer = (error, batches) => {
      if (slow === 0) reply(error, batches)
      else world.schedule(slow, 'kafka slow fetch', () => reply(error, batches), this.process)
    }
    const look = () => {
      try {
        const batches = wanted.flatMap((want) => this.#read(topic, want) ?? [])
        if (batches.length === 0) return false
        answer(undefined, batches)
      } catch (error) {
        answer(/** @type {KafkaError} */ (error), [])
      }
      return true
    }
    if (look()) return
    const waiter = { topic, look }
    this.#waiters.add(waiter)
    world.schedule(maxWait, 'kafka fetch ends', () => {
      if (this.#waiters.delete(waiter)) answer(undefined, [])
    }, this.process)
  }

  /** @param {string} topic @param {{ partition: number, offset: number }} want @returns {FetchedBatch | undefined} */
  #read (topic, { partition: number, offset }) {
    const partition = this.led(topic, number)
    const { random } = this
    try {
      if (offset === partition.end) return undefined
      const records = random.chance(0.5) ? FETCH.records : random.whole(1, 20)
      const read = partition.read(offset, records, FETCH.bytes)
      return read && { partition: number, ...read, from: offset, highWatermark: partition.end }
    } catch (error) {
      throw Object.assign(/** @type {KafkaError} */ (error), { partition: number })
    }
  }

  /**
   * A service sends records until they are acknowledged, in the order of the calls.
   * @param {SimProcess} process
   * @param {string} topic
   * @param {ServiceMessage[]} messages
   * @returns {Promise<import('./kafka/producer.js').Place[]>} in a turn of the process; rejects when the topic refuses
   */
  produce (process, topic, messages) {
    const producers = this.#services.get(process) ?? new Map()
    this.#services.set(process, producers)
    const service = producers.get(topic) ??
      { producer: new SimProducer(this.link(process), topic), last: Promise.resolve() }
    producers.set(topic, service)
    const outgoing = messages.map(({ key = null, value, headers = {}, ...more }) =>
      ({ key, value: typeof value === 'string' ? Buffer.from(value) : value, headers, ...more }))
    const sent = service.last.then(() => this.#sendUntilWritten(service, outgoing))
    service.last = sent.catch(() => {})
    return sent
  }

  /** @param {{ producer: SimProducer }} service @param {OutgoingMessage[]} messages */
  async #sendUntilWritten (service, messages) {
    for (;;) {
      const { producer } = service
      const failure = await producer.send(messages)
      if (failure === undefined) {
        this.#writeAgain(producer, messages)
        return producer.places
      }
      if (failure.rejected) throw failure.error
      if (failure.outOfSequence) service.producer = new SimProducer(producer.link, producer.topic)
      await producer.link.sleep(SERVICE_PAUSE)
    }
  }

  /** @param {SimProducer} producer @param {OutgoingMessage[]} messages */
  #writeAgain ({ topic, link, places }, messages) {
    if (this.#twice === 0) return
    this.#twice--
    this.#count('duplicate')
    const timestamp = link.process.clock.now()
    /** @type {Map<number, import('./kafka/partition.js').NewRecord[]>} */
    const batches = new Map()
    messages.forEach((message, i) => {
      const { partition } = places[i]
      batches.set(partition, [...batches.get(partition) ?? [], recordOf(message, timestamp)])
    })
    this.world.schedule(this.random.duration(20), 'kafka duplicate', () => {
      for (const [partition, batch] of batches) {
        try {
          this.append(topic, partition, { batch })
        } catch {} // no leader at the moment
      }
    }, null)
  }

  // faults

  /** @param {string} fault */
  #count (fault) { this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1) }

  /** @param {string} fault @param {string} details */
  #tell (fault, details) {
    this.#count(fault)
    this.world.trace.note(this.world.time, `kafka: ${fault} ${details}`)
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
    this.#waiters.clear()
    if (!isSilent) for (const call of [...this.calls]) call.fail(new KafkaError('CONNECTION'))
  }

  /** Ends each fault that lasts. */
  heal () {
    this.#awayUntil = Math.min(this.#awayUntil, this.world.time)
    this.#slowUntil = 0
    this.#twice = 0
    this.process.resume()
  }

  /** @param {string} [groupId] default: all of them */
  rebalance (groupId) {
    this.#tell('rebalance', groupId ?? 'of all groups')
    for (const [id, group] of this.#groups) if (groupId === undefined || id === groupId) group.rebalance()
  }

  /** The next batches of services are written twice, with other offsets. @param {number} [batches] */
  duplicate (batches = 1) { this.#twice += batches }

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
    partition.elect(count)
    partition.leaderlessUntil = this.world.time + this.random.whole(0, 500)
    this.#wake(topic)
  }

  /** The topic is deleted; what groups have committed for it may stay. @param {string} name */
  delete (name) {
    this.#tell('deleted topic', name)
    this.topics.delete(name)
    if (this.random.chance(0.5)) for (const group of this.#groups.values()) group.committed.delete(name)
    this.#wake(name)
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
    this.#slowUntil = this.world.time + ms
    this.#slowBy = by
  }
}
