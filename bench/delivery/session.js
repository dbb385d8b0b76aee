/**
 * A running system with its own Redis and Kafka, clients, and a producer: the environment of the phases, with its
 * measurements.
 */
import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { Backoff, retry } from '../../src/base/common/backoff.js'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { startKafka } from '../../test/services/kafka.js'
import { startRedis } from '../../test/services/redis.js'
import { ClientPool } from '../client/pool.js'
import { machineMs, othersShare } from '../measure/machine.js'
import { difference, sample, usageOf } from '../measure/processes.js'
import { quantiles, round } from '../measure/quantiles.js'
import { startProducer } from '../producer/producer.js'

/**
 * @typedef {import('../job.js').Job} Job
 * @typedef {import('../measure/processes.js').ServerProcess & import('../measure/processes.js').Usage} Used
 * @typedef {(done: number, of: number) => void} OnProgress
 *
 * @typedef {object} Delivered
 * @property {number} records
 * @property {number} deliveries
 * @property {number} missing
 * @property {number} doubled
 * @property {number} disordered
 * @property {number} bytes per delivery
 * @property {number} perSecond deliveries
 * @property {number} cpuUs of all server processes without Redis and Kafka, per delivery, including their idle load
 * @property {number} systemUs kernel part of cpuUs
 * @property {number} redisUs
 * @property {number} kafkaUs
 * @property {import('../measure/quantiles.js').Quantiles} latency from producing the record to its receipt, ms
 * @property {number} lateMs maximum delay of the producer
 * @property {{ cpuUs: number, busy: number }} client
 * @property {number} others share of the machine that programs outside the benchmark used, 0 to 1
 * @property {Record<string, number>} roles us of CPU per delivery, by process role
 * @property {Used[]} processes raw
 */

const SECRET = 'a secret for benchmarks, of more than 32 characters'
const TOPIC = 'documents.downlink'
/** As many as inkcast creates by default. */
const PARTITIONS = 12
/** Connections per process of the load generator. */
const CLIENTS_PER_PROCESS = 5000
const CONCURRENCY = 256
const TIMEOUT_MS = 10_000
/** Commits and garbage collection follow the last delivery, and count as part of the deliveries. */
const SETTLE_MS = 300
/** A system has started when its processes together use less than this share of a core during `ms`. */
const STARTED = { ms: 1000, share: 0.2, tries: 60 }
/** After this time without a delivery, missing ones count as lost. */
const QUIET_MS = 15_000
/** The same during warm-up: a consumer group that is still forming loses records. */
const WARM_QUIET_MS = 3000
/** Consecutive bursts that must arrive completely before the measurement, and the maximum number of attempts. */
const WARM = { wanted: 3, tries: 20 }
/** Documents without members. */
const NOBODYS = { base: 900_000, documents: 90 }

/**
 * @param {import('./systems.js').SystemUnderTest} entry
 * @param {object} options
 * @param {number} options.workers
 * @param {number} options.connections maximum
 * @param {string[]} [options.nodeArgs]
 */
export async function openSession ({ start, clients: kind, services }, { workers, connections, nodeArgs }) {
  /** In reverse order of creation. @type {(() => unknown)[]} */
  const closers = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const redis = services ? await startRedis() : undefined
    if (redis) closers.push(redis.stop)
    const kafka = services ? await startKafka({ longLived: true }) : undefined
    if (kafka) {
      closers.push(kafka.stop)
      await createTopic(kafka.brokers)
    }
    const system = await start({
      workers,
      secret: SECRET,
      redisUrl: redis?.url ?? '',
      kafkaBrokers: kafka?.brokers,
      nodeArgs
    })
    closers.push(system.stop)
    const clients = new ClientPool(Math.max(2, Math.ceil(connections / CLIENTS_PER_PROCESS)))
    closers.push(() => clients.stop())
    const producer = await startProducer(
      kafka ? { brokers: kafka.brokers, topic: TOPIC } : { port: system.target.port }
    )
    closers.push(() => producer.stop())
    return new Session({ kind, system, clients, producer, close, processes: [
      ...system.processes,
      ...(redis ? [{ pid: redis.pid, role: 'redis' }] : []),
      ...(kafka ? [{ pid: kafka.pid, role: 'kafka' }] : [])
    ] })
  } catch (error) {
    await close()
    throw error
  }
}

/** One measured system with its clients, until it is closed. */
export class Session {
  #kind
  #system
  #producer
  #processes
  /** Processes of the load generator. */
  #generator
  #opened = 0

  /**
   * @param {object} parts
   * @param {import('./systems.js').SystemUnderTest['clients']} parts.kind
   * @param {import('../systems/system.js').System} parts.system
   * @param {import('../client/pool.js').ClientPool} parts.clients
   * @param {import('../producer/producer.js').Producer} parts.producer
   * @param {import('../measure/processes.js').ServerProcess[]} parts.processes
   * @param {() => Promise<void>} parts.close
   */
  constructor ({ kind, system, clients, producer, processes, close }) {
    this.name = system.name
    this.clients = clients
    this.close = close
    this.#kind = kind
    this.#system = system
    this.#producer = producer
    this.#processes = processes
    this.#generator = [process.pid, producer.pid, ...clients.pids]
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<{ result: T, used: Used[], wallMs: number, watchedMs: number, others: number }>} usage of all
   *   processes during the observation
   */
  async measure (work) {
    const generatorMs = () => this.#generator.reduce((sum, pid) => sum + usageOf(pid).cpuMs, 0)
    const [before, machineBefore, generatorBefore] = [sample(this.#processes), machineMs(), generatorMs()]
    const begin = performance.now()
    const result = await work()
    const wallMs = performance.now() - begin
    await delay(SETTLE_MS)
    const used = difference(before, sample(this.#processes))
    const watchedMs = performance.now() - begin
    const ownMs = used.reduce((sum, { cpuMs }) => sum + cpuMs, 0) + generatorMs() - generatorBefore
    return {
      result, used, wallMs, watchedMs,
      others: round(othersShare(machineMs() - machineBefore, ownMs, watchedMs), 2)
    }
  }

  /**
   * @param {Job} job
   * @param {number} quietMs
   * @param {(share: number) => void} [onProgress] share of deliveries that have arrived
   */
  async #run (job, quietMs, onProgress) {
    const expected = await this.clients.expect(job)
    const [received, { lateMs }] = await Promise.all([
      this.clients.receive({ quietMs, onProgress: (done) => onProgress?.(done / expected) }),
      this.#producer.produce(job)
    ])
    return { ...received, lateMs }
  }

  usage () { return sample(this.#processes) }

  /**
   * Waits for the end of the system's start: workers that are ready may still compile for some seconds.
   * @throws {Error} when its processes are busy for a minute
   */
  async started () {
    let cpuMs = 0
    for (let left = STARTED.tries; left > 0; left--) {
      const before = sample(this.#system.processes)
      await delay(STARTED.ms)
      cpuMs = difference(before, sample(this.#system.processes)).reduce((sum, used) => sum + used.cpuMs, 0)
      if (cpuMs < STARTED.share * STARTED.ms) return
    }
    throw new Error(`${this.name} used ${Math.round(cpuMs)} ms of CPU in the last second, without clients`)
  }

  /**
   * Opens connections, each of which joins one document.
   * @param {number} count
   * @param {number} documents over which the connections are distributed
   * @param {OnProgress} onProgress
   */
  async open (count, documents, onProgress) {
    const result = await this.clients.open(
      {
        kind: this.#kind,
        target: this.#system.target,
        secret: SECRET,
        first: this.#opened,
        count,
        concurrency: CONCURRENCY,
        documents,
        timeoutMs: TIMEOUT_MS
      },
      (done) => onProgress(done, count)
    )
    this.#opened += count
    return result
  }

  /**
   * Publishes single records to documents without members, so that the code for a record is compiled: a server runs
   * for days, and in its first minute the compiler uses more CPU than the records.
   * @param {number} records
   * @param {number} perSecond
   */
  async preheat (records, perSecond) { await this.#producer.produce({ ...NOBODYS, records, perSecond }) }

  /** Repeats a job until the system is warm. @param {Job} job @throws {Error} when its records don't all arrive */
  async warm (job) {
    let inARow = 0
    for (let tries = 0; tries < WARM.tries && inARow < WARM.wanted; tries++)
      inARow = (await this.#run(job, WARM_QUIET_MS)).missing === 0 ? inARow + 1 : 0
    if (inARow < WARM.wanted) throw new Error(`${this.name} does not deliver everything:\n${this.#system.output()}`)
  }

  /**
   * @param {Job} job
   * @param {number} times repetitions, each after everything of the previous one has arrived
   * @param {OnProgress} onProgress
   * @returns {Promise<Delivered>}
   */
  async deliver (job, times, onProgress) {
    const { result: runs, used, wallMs, others } = await this.measure(async () => {
      const results = []
      for (let i = 0; i < times; i++)
        results.push(await this.#run(job, QUIET_MS, (share) => onProgress(i + share, times)))
      return results
    })
    const total = (/** @type {'expected' | 'missing' | 'doubled' | 'disordered' | 'bytes' | 'cpuMs'} */ name) =>
      runs.reduce((sum, each) => sum + each[name], 0)
    const deliveries = total('expected') - total('missing')
    return {
      records: job.records * times,
      deliveries,
      missing: total('missing'),
      doubled: total('doubled'),
      disordered: total('disordered'),
      bytes: Math.round(total('bytes') / deliveries),
      perSecond: Math.round((deliveries / wallMs) * 1000),
      ...costs(used, deliveries),
      latency: quantiles(joined(runs.flatMap(({ latencies }) => latencies)), 2),
      lateMs: Math.max(...runs.map(({ lateMs }) => lateMs)),
      client: {
        cpuUs: round((total('cpuMs') / deliveries) * 1000, 2),
        busy: round(Math.max(...runs.map(({ busy }) => busy)), 2)
      },
      others,
      roles: byRole(used, deliveries),
      processes: used
    }
  }
}

/**
 * @param {Used[]} used
 * @param {number} count divisor
 * @returns {{ cpuUs: number, systemUs: number, redisUs: number, kafkaUs: number }} per unit
 */
export function costs (used, count) {
  const perPiece = (/** @type {Used[]} */ processes, /** @type {'cpuMs' | 'systemMs'} */ name) =>
    round((processes.reduce((sum, each) => sum + each[name], 0) / count) * 1000, 2)
  const servers = serversOf(used)
  return {
    cpuUs: perPiece(servers, 'cpuMs'),
    systemUs: perPiece(servers, 'systemMs'),
    redisUs: perPiece(used.filter(({ role }) => role === 'redis'), 'cpuMs'),
    kafkaUs: perPiece(used.filter(({ role }) => role === 'kafka'), 'cpuMs')
  }
}

/**
 * @param {Used[]} used
 * @param {number} count divisor
 * @returns {Record<string, number>} us of CPU per unit, by process role
 */
export function byRole (used, count) {
  /** @type {Record<string, number>} */
  const roles = {}
  for (const { role, cpuMs } of used) roles[role] = (roles[role] ?? 0) + cpuMs / count * 1000
  return Object.fromEntries(Object.entries(roles).map(([role, cpuUs]) => [role, round(cpuUs, 2)]))
}

/** @param {Used[]} used */
export const serversOf = (used) => used.filter(({ role }) => role !== 'redis' && role !== 'kafka')

/** @param {Float32Array[]} lists */
function joined (lists) {
  const all = new Float32Array(lists.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const list of lists) {
    all.set(list, at)
    at += list.length
  }
  return all
}

/** @param {string} brokers */
async function createTopic (brokers) {
  const admin = new kafkajs.Kafka({ brokers: [brokers], logLevel: kafkajs.logLevel.NOTHING }).admin()
  try {
    await admin.connect()
    await admin.createTopics({
      topics: [{ topic: TOPIC, numPartitions: PARTITIONS, replicationFactor: 1 }],
      waitForLeaders: false // fails if the broker that answers has not heard of the topic yet
    })
    await retry(async () => {
      const { topics: [{ partitions }] } = await admin.fetchTopicMetadata({ topics: [TOPIC] })
      if (partitions.some(({ leader }) => leader < 0)) throw new Error('a partition has no leader yet')
    }, {
      signal: AbortSignal.timeout(TIMEOUT_MS), clock: systemClock, backoff: new Backoff({ random: systemRandom })
    })
  } finally {
    await admin.disconnect()
  }
}
