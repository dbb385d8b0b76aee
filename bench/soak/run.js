/**
 * A soak: a cluster, clients that come and go, records, faults, and a sample every minute.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { planOf, processesFor } from '../../packages/load/plan.js'
import { runLoad } from '../../packages/load/run.js'
import { startCluster } from '../../test/helpers/cluster.js'
import { seededRandom } from '../../test/helpers/random.js'
import { startKafka } from '../../test/services/kafka.js'
import { startRedis } from '../../test/services/redis.js'
import { faultOrder, GENTLE, MOVING } from './faults.js'
import { LASTING } from './keys.js'
import { createMeasure } from './measure.js'
import { createProbes } from './processes.js'
import { openProducer } from './records.js'

/**
 * @typedef {object} Settings
 * @property {number} minutes
 * @property {number} connections
 * @property {number} documents
 * @property {number} rate records per second
 * @property {number} churn percent of the clients per second
 * @property {number} activity percent of the clients per second
 * @property {number} polling percent of the clients
 * @property {number} msgpack percent of the clients
 * @property {number} workers
 * @property {boolean} kafka
 * @property {boolean} faults
 * @property {number} every minutes between two faults
 * @property {number} seed
 * @property {number} warm seconds of load before the first measurement
 * @property {Record<string, string>} [env] further settings of the cluster
 *
 * @typedef {{ at: number, name: string, seconds: number }} Made a fault; at: minutes since the load began
 * @typedef {{ say: (line: string) => void, onSample?: (sample: import('./measure.js').Sample) => void }} View
 * @typedef {Awaited<ReturnType<typeof runSoak>>} Result
 */

const TOKEN = 'a-token-of-the-soak-with-32-characters'
const SECOND = 1000
const MINUTE = 60_000
/** Share of the time after which faults move connections to other workers, and growth is not measured any more. */
export const STEADY = 0.85
/**
 * For all clients to be connected at the time of a sample, ms; then for what they did to be over: users who have left
 * are held for PRESENCE_GRACE (5 s).
 */
const CALM = { connected: 30_000, over: 7000 }
/** For keys to expire after the clients have left, and for reads that keep them, ms. */
const SETTLE = 240_000
/** Records are kept for this long after the last one of a document, s. */
const KEPT = '60'

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Settings} settings
 * @param {View} view
 */
export async function runSoak (t, settings, view) {
  const server = await startRedis()
  t.after(() => server.stop())
  const broker = settings.kafka ? await startKafka({ longLived: true }) : undefined
  if (broker !== undefined) t.after(() => broker.stop())
  const redis = new Redis(server.url)
  redis.on('error', () => {}) // commands wait until Redis responds again
  t.after(() => redis.disconnect())
  const probes = createProbes(t)
  const cluster = await startCluster(t, {
    NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: String(settings.workers), REDIS_URL: server.url,
    AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: `soak:${TOKEN}`, HISTORY_TTL: KEPT,
    ...broker && { KAFKA_BROKERS: broker.brokers }, ...settings.env, ...probes.env
  })
  const produce = broker && await openProducer(t, broker.brokers)
  const measure = createMeasure({ cluster, probes, redis })
  return new Soak(settings, view, { scene: { cluster, server, redis, broker }, measure, produce }).run()
}

class Soak {
  /** @type {import('./measure.js').Sample[]} */
  #samples = []
  /** @type {Made[]} */
  #made = []
  /** Of the load: connections, its phase, and whether its clients do nothing now. */
  #open = 0
  #phase = ''
  #calm = false
  #begun = 0
  #settings
  #view
  #parts
  #random

  /**
   * @param {Settings} settings
   * @param {View} view
   * @param {{ scene: import('./faults.js').Scene, measure: ReturnType<typeof createMeasure>,
   *   produce?: import('../../packages/load/publisher.js').Produce }} parts
   */
  constructor (settings, view, parts) {
    this.#settings = settings
    this.#view = view
    this.#parts = parts
    this.#random = seededRandom(settings.seed)
  }

  async run () {
    const settings = this.#settings
    const { minutes, connections, warm } = settings
    const { say } = this.#view
    say(`warms up for ${warm} s`)
    this.#begun = performance.now() + warm * SECOND
    await this.#during(() => delay(warm * SECOND))
    let before = Infinity
    let same = 0
    await this.#settled((keys) => {
      same = keys === before ? same + 1 : 0
      before = keys
      // sessions and presence are gone, and logs have expired
      return same >= 7
    })
    const start = transient(await this.#take('empty'))
    say(`load: ${connections} clients, for ${minutes} min`)
    const load = await this.#during(() => {
      this.#begun = performance.now()
      return this.#timeline()
    })
    say('all clients have left')
    await this.#settled((left) => left <= start)
    await this.#take('end')
    return { settings, samples: this.#samples, faults: this.#made, load }
  }

  /** Minutes since the load began. */
  get #now () { return (performance.now() - this.#begun) / MINUTE }

  /** Runs a load while `work` is done. @template R @param {() => Promise<R>} work */
  async #during (work) {
    const ending = new AbortController()
    this.#phase = ''
    const loading = this.#load(ending.signal)
    loading.catch(() => {}) // reported below
    const held = async () => { while (this.#phase !== 'hold') await delay(100) }
    const early = loading.then(() => { throw new Error('the load ended early') })
    try {
      await Promise.race([held().then(work), early])
    } finally {
      early.catch(() => {})
      this.#phase = 'hold'
      ending.abort()
    }
    return loading
  }

  /** @param {AbortSignal} signal ends the load */
  #load (signal) {
    const { connections, documents, rate: records, churn, activity, polling, msgpack } = this.#settings
    const { scene: { cluster }, produce } = this.#parts
    return runLoad({
      plan: planOf('hold', {
        connections, hold: Infinity, ramp: Math.max(100, connections / 10), documents, records, churn, activity,
        polling, msgpack
      }),
      processes: processesFor(connections, 1),
      target: { host: '127.0.0.1', port: Number(new URL(cluster.url).port), secure: false, insecure: false },
      loopback: true,
      sources: [],
      tokenOf: async () => undefined,
      api: { url: cluster.apiUrl, token: TOKEN },
      admin: { url: cluster.adminUrl, token: undefined },
      settle: MINUTE,
      produce,
      // a restart of Kafka takes some seconds, an api that does not answer 15 for each try
      tries: 60,
      isCalm: () => this.#calm,
      onSample: (sample) => { [this.#open, this.#phase] = [sample.connections, sample.phase] },
      signal
    })
  }

  async #timeline () {
    const { minutes, faults, every, kafka } = this.#settings
    const [gentle, moving] = [GENTLE, MOVING].map((kinds) => faultOrder(kinds, { kafka, random: this.#random }))
    let nextFault = every / 2
    for (let minute = 1; minute <= minutes; minute++) {
      while (this.#now < minute) {
        if (faults && this.#now >= nextFault && nextFault < minutes - 0.5) {
          nextFault += every
          await this.#break(this.#now < STEADY * minutes ? gentle() : moving())
        }
        await delay(100)
      }
      await this.#takeCalm()
    }
  }

  /** @param {import('./faults.js').Fault} fault */
  async #break ({ name, make }) {
    const at = this.#now
    await make(this.#parts.scene, this.#random)
    const seconds = (this.#now - at) * MINUTE / SECOND
    this.#made.push({ at, name, seconds })
    this.#view.say(`${at.toFixed(1)} min: ${name} (${seconds.toFixed(1)} s)`)
  }

  /** A sample at a comparable time: all clients are connected, and only records flow. */
  async #takeCalm () {
    this.#calm = true
    const deadline = performance.now() + CALM.connected
    while (this.#open < this.#settings.connections && performance.now() < deadline) await delay(100)
    await delay(CALM.over)
    await this.#take('load')
    this.#calm = false
  }

  /** @param {import('./measure.js').Sample['phase']} phase @returns {Promise<import('./measure.js').Sample>} */
  async #take (phase) {
    const connections = phase === 'load' ? this.#open : 0
    const sample = await this.#parts.measure({ at: this.#now, phase, connections })
    this.#samples.push(sample)
    this.#view.onSample?.(sample)
    return sample
  }

  /** Until the clients' traces are gone, or too much time has passed. @param {(keys: number) => boolean} isOver */
  async #settled (isOver) {
    const deadline = performance.now() + SETTLE
    /** @type {import('./measure.js').Sample} */
    let sample
    do {
      await delay(10 * SECOND)
      sample = await this.#parts.measure({ at: this.#now, phase: 'end', connections: 0 })
    } while (!isOver(transient(sample)) && performance.now() < deadline)
  }
}

/** @param {Pick<import('./measure.js').Sample, 'keys'>} sample @returns {number} keys that go when their clients do */
const transient = ({ keys }) =>
  Object.entries(keys).reduce((sum, [group, count]) => LASTING.includes(group) ? sum : sum + count, 0)
