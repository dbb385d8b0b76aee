import './world/patched-fetch.js'
import './world/patched-locks.js'
import { KINDS } from './faults/kinds.js'
import { FaultPlan } from './faults/plan.js'
import { Answers } from './oracle/answers.js'
import { Broker } from './parts/broker.js'
import { Cluster, GRPC_SETTINGS } from './parts/cluster.js'
import { Editor } from './parts/editor.js'
import { KafkaService } from './parts/kafka-service.js'
import { PLAIN_LISTENER } from './parts/plain-line.js'
import { MQTT_LISTENER } from './parts/mqtt-line.js'
import { People } from './parts/people.js'
import { RightsTraffic } from './parts/rights-traffic.js'
import { Service } from './parts/service.js'
import { SlowPages, SLOW_SETTINGS } from './parts/slow-pages.js'
import { createRedisIn } from './parts/redis/kinds.js'
import { Tabs } from './parts/tabs.js'
import { RECEIVER_SETTINGS, WebhookReceiver } from './parts/webhook-receiver.js'
import { ReplicatedRedis } from './parts/redis/replicated.js'
import { missingPublications } from './oracle/kept-publications.js'
import { drawnApart } from './world/random.js'
import { World } from './world/world.js'

/** Time for a cluster to be ready, and after the quiet time began for everything to be as promised, ms. */
const START = 60_000
const CONVERGE = 180_000
/** Between two records of a document that no log keeps, ms. */
const WAVES = 2000
/** Topic of what pages send. */
const UPLINK = 'documents.uplink'
/** Shares of worlds, drawn apart. @satisfies {Record<string, import('./world/random.js').Apart>} */
const SOME = {
  grpc: { share: 0.3, change: 0x67525059 },
  launcher: { share: 0.4, change: 0x6c6176a5 },
  upgrade: { share: 0.3, change: 0x757067ba },
  slow: { share: 0.2, change: 0x736c6f77 },
  plain: { share: 0.3, change: 0x706c6169 },
  mqtt: { share: 0, change: 0x6d717474 }
}
/** Default duration of traffic and faults, ms. */
const DURATION = 30_000

/**
 * @typedef {object} Scenario
 * @property {[number, number]} machines from, to
 * @property {[number, number]} workers of each machine
 * @property {[number, number]} pages
 * @property {[number, number]} documents
 * @property {number} kafka share of the worlds with Kafka
 * @property {number} rights share of the worlds with a service that withdraws rights and gives them back
 * @property {readonly import('./parts/redis/kinds.js').RedisKind[]} redis one of these kinds
 * @property {number} duration ms
 * @property {readonly string[]} [faults] kinds; default: all
 * @property {number} [devices] share of the worlds with plain WebSockets and MQTT
 */
/** @type {Omit<Scenario, 'redis'>} */
const SHAPE = {
  machines: [1, 2], workers: [1, 3], pages: [4, 10], documents: [2, 4], kafka: 0.4, rights: 0.4, duration: DURATION
}
/** Faults after which Redis or Kafka answers, and refuses. */
const REFUSALS = ['Redis has no memory left', 'Redis is killed, and loads its data for a while', 'topic deleted and created again']
/** @type {Record<string, Scenario>} */
export const SCENARIOS = {
  default: { ...SHAPE, redis: ['single', 'single', 'shards'] },
  replica: { ...SHAPE, redis: ['replica'] },
  shards: { ...SHAPE, redis: ['shards'] },
  kafka: { ...SHAPE, workers: [1, 2], pages: [3, 6], documents: [1, 3], kafka: 1, rights: 0, redis: ['single'] },
  rights: {
    ...SHAPE, pages: [1, 2], documents: [1, 1], kafka: 0, rights: 1, redis: ['single'],
    faults: Object.keys(KINDS).filter((kind) => !REFUSALS.includes(kind))
  },
  refusals: {
    ...SHAPE, redis: ['single', 'single', 'shards'],
    faults: [...REFUSALS, 'kill', 'reload', 'cut connection within the cluster', 'rebalance']
  },
  devices: { ...SHAPE, redis: ['single', 'single', 'shards'], devices: 1 },
  calm: {
    ...SHAPE, machines: [1, 1], workers: [3, 3], pages: [8, 8], documents: [3, 3], kafka: 0, rights: 0, redis: ['single'],
    faults: []
  }
}

/**
 * @typedef {object} Without for a smaller run of the same seed
 * @property {ReadonlySet<number>} [faults] numbers of faults of the plan that are left out
 * @property {number} [clients] at most
 * @property {number} [documents] at most
 * @property {number} [duration] ms
 * @property {number} [records] of each document at most
 *
 * @typedef {object} Result
 * @property {number} seed
 * @property {string} hash of the trace
 * @property {string[]} violations
 * @property {Record<string, number>} counts of faults, and of what was checked
 * @property {number} seconds of virtual time
 * @property {number} turns
 * @property {number} wallMs
 * @property {string[]} plan the faults in words
 * @property {import('./world/trace.js').Trace} trace
 */

/**
 * A world with the cluster, its services and pages; traffic and faults for a time, and then a quiet time, at whose end
 * everybody has everything.
 *
 * @param {number} seed
 * @param {{ lines?: boolean, checked?: boolean, scenario?: string, without?: Without }} [options]
 * @returns {Promise<Result>}
 */
export async function runSeed (seed, { lines = false, checked = false, scenario = 'default', without = {} } = {}) {
  const begun = process.hrtime.bigint()
  const world = new World(seed, { lines, checked })
  const shape = SCENARIOS[scenario]
  if (shape === undefined) throw new Error(`no scenario ${scenario}; there are ${Object.keys(SCENARIOS).join(', ')}`)
  const run = new Run(world, shape, without)
  await run.play()
  world.network.end()
  return {
    seed,
    hash: world.trace.hash,
    violations: world.violations,
    counts: run.counts(),
    seconds: world.time / 1000,
    turns: world.turns,
    wallMs: Number(process.hrtime.bigint() - begun) / 1e6,
    plan: run.plan.words,
    trace: world.trace
  }
}

/**
 * @typedef {object} Traffic
 * @property {(until: number) => void} begin virtual ms
 * @property {() => string | undefined} missing until the last look may begin
 * @property {() => void} [last] begins the last look
 * @property {() => string | undefined} [behind] what is not as promised yet
 * @property {() => Record<string, number>} counts
 */

class Run {
  /** Newest publications that were looked for after failovers. */
  keptPublications = 0

  /** @param {World} world @param {Scenario} shape @param {Without} without */
  constructor (world, shape, without) {
    this.world = world
    this.without = without
    const drawn = world.random.fork()
    this.drawn = drawn
    const machines = drawn.whole(...shape.machines)
    const workers = drawn.whole(...shape.workers)
    const count = Math.min(drawn.whole(...shape.pages), without.clients ?? Infinity)
    const documents = Math.min(drawn.whole(...shape.documents), without.documents ?? Infinity)
    this.guids = Array.from({ length: documents }, (_, i) => `doc-${i + 1}`)
    this.duration = Math.min(shape.duration, without.duration ?? Infinity)
    this.broker = drawn.chance(shape.kafka) ? new Broker(world) : undefined
    const redis = createRedisIn(world, drawn.pick(shape.redis))
    // without Kafka: what pages send goes to a service by webhook, or straight to the documents
    const receiver = this.broker === undefined && drawn.chance(0.5)
      ? new WebhookReceiver(world, { tabs: () => this.tabs, plan: () => this.plan }) : undefined
    const slow = drawnApart(world.seed, SOME.slow)
    const ways = drawnApart(world.seed, SOME.grpc)
    const [plain, mqtt] = [SOME.plain, SOME.mqtt].map((some) =>
      drawnApart(world.seed, { ...some, share: shape.devices ?? some.share }))
    const listeners = [...plain ? [PLAIN_LISTENER] : [], ...mqtt ? [MQTT_LISTENER] : []]
    this.cluster = new Cluster(world, {
      machines, workers, redis, broker: this.broker, launches: drawnApart(world.seed, SOME.launcher) !== undefined,
      env: {
        ...receiver && RECEIVER_SETTINGS, ...ways && GRPC_SETTINGS, ...slow && SLOW_SETTINGS,
        ...listeners.length > 0 && { LISTENERS: listeners.join() }
      }
    })
    const ofService = world.process('service', { name: 'service', step: 0 })
    this.service = this.broker !== undefined && drawn.chance(0.5)
      ? new KafkaService(ofService, this.broker, ways?.fork()) : new Service(ofService, ways?.fork())
    if (this.broker !== undefined) {
      const process = world.process('editor', { name: 'editor', step: 0 })
      this.editor = new Editor(process, this.broker, new Service(process, ways?.fork()), UPLINK)
    }
    this.answers = new Answers(world)
    const { service, answers, guids } = this
    this.tabs = new Tabs(world, {
      count, guids, edited: ['edits-1'], service, answers, plain: plain?.fork(), mqtt,
      mayResync: () => this.plan.mayResync, areSlow: slow !== undefined,
      receipts: receiver?.checker,
      // without Kafka the key of an edit that the webhook answers is in Redis only
      mayComeAgain: (guid) =>
        this.broker === undefined && receiver !== undefined && guid === 'edits-1' && this.plan.mayResync,
      // an edit that waits for the webhook is in Redis only
      isLost: (guid, writer, number) =>
        // a record of a user's log has the user's id as its key
        this.broker?.hasLost(guid.replace(/^@/, ''), JSON.stringify({ writer, number })) ??
        (receiver !== undefined && guid === 'edits-1' && this.plan.mayResync)
    })
    /** Each with promises of its own. @type {Traffic[]} */
    this.traffic = [this.tabs, new People(world, this.tabs, service)]
    if (slow !== undefined) this.traffic.push(new SlowPages(world, this.tabs, slow))
    if (receiver !== undefined) this.traffic.push(receiver)
    if (drawn.chance(shape.rights))
      this.traffic.push(new RightsTraffic(world, {
        cluster: this.cluster, drawn: drawn.fork(), ways: ways?.fork(), plain: plain?.fork()
      }))
    this.plan = new FaultPlan(world, {
      cluster: this.cluster, pages: this.tabs.pages, broker: this.broker, duration: this.duration, kinds: shape.faults,
      upgrades: drawnApart(world.seed, SOME.upgrade) !== undefined, without: without.faults ?? new Set()
    })
    if (redis instanceof ReplicatedRedis) redis.onFailover = ({ store }) => this.#failedOver(redis, store)
  }

  /**
   * @param {ReplicatedRedis} redis
   * @param {import('../../src/redis/store/store.js').Store} store of the new master
   */
  #failedOver (redis, store) {
    if (!redis.waits || this.broker !== undefined || this.plan.mayHaveLost) return
    this.keptPublications += this.service.accepted.size
    for (const sentence of missingPublications(store, this.service)) this.world.violation(sentence)
  }

  async play () {
    const { world, cluster } = this
    await world.run(START, () => cluster.isReady)
    if (!cluster.isReady) return world.violation('the cluster is not ready in time')
    const begin = world.time
    for (const traffic of this.traffic) traffic.begin(begin + this.duration)
    for (const guid of this.guids) this.#publish(250, begin + this.duration, () => this.service.publish(guid))
    for (const uid of this.tabs.readsLogs ? this.tabs.uids : [])
      this.#publish(2500, begin + this.duration, () => this.service.notify(uid))
    this.plan.begin()
    await world.run(begin + this.duration)
    this.plan.end()
    await this.#converge()
  }

  /**
   * Publishes one record after the other until the end of the traffic.
   * @param {number} middle of pauses, ms
   * @param {number} until ms
   * @param {() => Promise<void>} publish
   */
  #publish (middle, until, publish) {
    const { world, service, without } = this
    const drawn = this.drawn.fork()
    const pause = drawn.duration(middle)
    service.process.enter('publish', async () => {
      let records = 0
      while (world.time < until && records++ < (without.records ?? Infinity)) {
        await publish()
        await service.process.clock.sleep(drawn.duration(pause))
      }
    })
  }

  /** The faults are over: everything has to become as promised, and one last record has to reach everyone. */
  async #converge () {
    const { world, service, cluster } = this
    const deadline = world.time + CONVERGE
    let isOver = false
    /** @returns {string | undefined} what is missing */
    const missing = () => {
      const unready = cluster.slots.filter(({ running }) => !running?.isReady || !running.process.isAlive)
      if (unready.length > 0) return `not ready: ${unready.map(({ name }) => name).join(', ')}`
      if (service.waiting > 0) return 'publications without an answer'
      return this.#firstOf((traffic) => traffic.missing()) ?? this.answers.missing
    }
    const look = (/** @type {() => string | undefined} */ what, /** @type {() => void} */ done) => {
      if (what() === undefined) return done()
      world.schedule(250, 'look', () => look(what, done), null)
    }
    // pub/sub may lose them, but not each one now
    const wave = () => {
      service.process.enter('waves', () => { for (const guid of this.guids) service.wave(guid) })
      world.schedule(WAVES, 'waves', wave, null)
    }
    const last = () => {
      service.process.enter('last records', () => {
        for (const guid of this.guids) service.publish(guid)
        if (this.tabs.readsLogs) for (const uid of this.tabs.uids) service.notify(uid)
      })
      for (const traffic of this.traffic) traffic.last?.()
      wave()
      world.schedule(1, 'look', () => look(behind, () => { isOver = true }), null)
    }
    const behind = () => service.waiting > 0
      ? 'publications without an answer' : this.#firstOf((traffic) => traffic.behind?.())
    look(missing, last)
    await world.run(deadline, () => isOver)
    if (!isOver) world.violation(`not as promised ${CONVERGE / 1000} s after the last fault: ${missing() ?? behind()}`)
  }

  /** @param {(traffic: Traffic) => string | undefined} missing @returns {string | undefined} */
  #firstOf (missing) { return this.traffic.map(missing).find((what) => what !== undefined) }

  /** @returns {Record<string, number>} */
  counts () {
    return {
      'records accepted': [...this.service.accepted.values()].reduce((total, count) => total + count, 0),
      'requests answered': this.answers.answered,
      'requests rejected': this.answers.rejected,
      'publications over gRPC': this.service.calls + (this.editor?.service.calls ?? 0),
      'failovers': this.cluster.redis.failovers,
      'kept publications': this.keptPublications,
      ...Object.assign({}, ...this.traffic.map((traffic) => traffic.counts())),
      ...this.plan.counts
    }
  }
}
