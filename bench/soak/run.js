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
 * @param {{ say: (line: string) => void, onSample?: (sample: import('./measure.js').Sample) => void }} view
 */
export async function runSoak (t, settings, { say, onSample = () => {} }) {
  const { minutes, connections, kafka, workers, seed } = settings
  const random = seededRandom(seed)
  const server = await startRedis()
  t.after(() => server.stop())
  const broker = kafka ? await startKafka({ longLived: true }) : undefined
  if (broker !== undefined) t.after(() => broker.stop())
  const redis = new Redis(server.url)
  redis.on('error', () => {}) // commands wait until Redis responds again
  t.after(() => redis.disconnect())
  const probes = createProbes(t)
  const cluster = await startCluster(t, {
    NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: String(workers), REDIS_URL: server.url,
    AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: `soak:${TOKEN}`, HISTORY_TTL: KEPT,
    ...broker && { KAFKA_BROKERS: broker.brokers }, ...settings.env, ...probes.env
  })
  const produce = broker && await openProducer(t, broker.brokers)
  const measure = createMeasure({ cluster, probes, redis })
  const scene = { cluster, server, redis, broker }

  /** @type {import('./measure.js').Sample[]} */
  const samples = []
  /** @type {Made[]} */
  const made = []
  let [open, phase, calm] = [0, '', false]
  let begun = 0
  const now = () => (performance.now() - begun) / MINUTE

  /** @param {import('./measure.js').Sample['phase']} name @returns {Promise<import('./measure.js').Sample>} */
  async function take (name) {
    const sample = await measure({ at: now(), phase: name, connections: name === 'load' ? open : 0 })
    samples.push(sample)
    onSample(sample)
    return sample
  }

  /** @param {AbortSignal} signal ends the load */
  const load = (/** @type {AbortSignal} */ signal) => runLoad({
    plan: planOf('hold', {
      connections, hold: Infinity, ramp: Math.max(100, connections / 10), documents: settings.documents,
      records: settings.rate, churn: settings.churn, activity: settings.activity, polling: settings.polling,
      msgpack: settings.msgpack
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
    isCalm: () => calm,
    onSample (sample) { [open, phase] = [sample.connections, sample.phase] },
    signal
  })

  /** Runs a load while `work` is done. @template R @param {() => Promise<R>} work */
  async function during (work) {
    const ending = new AbortController()
    const loading = load(ending.signal)
    loading.catch(() => {}) // reported below
    const held = async () => { while (phase !== 'hold') await delay(100) }
    phase = ''
    const early = loading.then(() => { throw new Error('the load ended early') })
    try {
      await Promise.race([held().then(work), early])
    } finally {
      early.catch(() => {})
      phase = 'hold'
      ending.abort()
    }
    return loading
  }

  /** A sample at a comparable time: all clients are connected, and only records flow. */
  async function takeCalm () {
    calm = true
    const deadline = performance.now() + CALM.connected
    while (open < connections && performance.now() < deadline) await delay(100)
    await delay(CALM.over)
    await take('load')
    calm = false
  }

  /** @param {import('./faults.js').Fault} fault */
  async function makeFault ({ name, make }) {
    const at = now()
    await make(scene, random)
    const seconds = (now() - at) * MINUTE / SECOND
    made.push({ at, name, seconds })
    say(`${at.toFixed(1)} min: ${name} (${seconds.toFixed(1)} s)`)
  }

  async function timeline () {
    const [gentle, moving] = [GENTLE, MOVING].map((faults) => faultOrder(faults, { kafka, random }))
    let nextFault = settings.every / 2
    for (let minute = 1; minute <= minutes; minute++) {
      while (now() < minute) {
        if (settings.faults && now() >= nextFault && nextFault < minutes - 0.5) {
          nextFault += settings.every
          await makeFault(now() < STEADY * minutes ? gentle() : moving())
        }
        await delay(100)
      }
      await takeCalm()
    }
  }

  /** Until the clients' traces are gone, or too much time has passed. @param {(keys: number) => boolean} isOver */
  async function settled (isOver) {
    const deadline = performance.now() + SETTLE
    /** @type {import('./measure.js').Sample} */
    let sample
    do {
      await delay(10 * SECOND)
      sample = await measure({ at: now(), phase: 'end', connections: 0 })
    } while (!isOver(transient(sample)) && performance.now() < deadline)
  }

  say(`warms up for ${settings.warm} s`)
  begun = performance.now() + settings.warm * SECOND
  await during(() => delay(settings.warm * SECOND))
  let before = Infinity
  let same = 0
  await settled((keys) => {
    same = keys === before ? same + 1 : 0
    before = keys
    // sessions and presence are gone, and logs have expired
    return same >= 7
  })
  const { keys } = await take('empty')
  const start = transient({ keys })
  say(`load: ${connections} clients, for ${minutes} min`)
  const result = await during(async () => {
    begun = performance.now()
    await timeline()
  })
  say('all clients have left')
  await settled((left) => left <= start)
  await take('end')
  return { settings, samples, faults: made, load: result }
}

/** @param {Pick<import('./measure.js').Sample, 'keys'>} sample @returns {number} keys that go when their clients do */
const transient = ({ keys }) =>
  Object.entries(keys).reduce((sum, [group, count]) => LASTING.includes(group) ? sum : sum + count, 0)
