import { Cluster } from './parts/cluster.js'
import { Broker } from './parts/broker.js'
import { Editor } from './parts/editor.js'
import { KafkaService } from './parts/kafka-service.js'
import { OwnPage, StockPage } from './parts/pages.js'
import { RightsTraffic } from './parts/rights-traffic.js'
import { Service } from './parts/service.js'
import { createRedisIn } from './parts/redis/kinds.js'
import { FaultPlan } from './faults/plan.js'
import { World } from './world/world.js'

/** Time for a cluster to be ready, and after the quiet time began for everything to be as promised, ms. */
const START = 60_000
const CONVERGE = 180_000
/** Topic of what pages send. */
const UPLINK = 'documents.uplink'
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
 */
/** @type {Omit<Scenario, 'redis'>} */
const SHAPE = {
  machines: [1, 2], workers: [1, 3], pages: [4, 10], documents: [2, 4], kafka: 0.4, rights: 0.4, duration: DURATION
}
/** @type {Record<string, Scenario>} */
export const SCENARIOS = {
  default: { ...SHAPE, redis: ['single', 'single', 'shards'] },
  shards: { ...SHAPE, redis: ['shards'] },
  kafka: { ...SHAPE, workers: [1, 2], pages: [3, 6], documents: [1, 3], kafka: 1, rights: 0, redis: ['single'] },
  rights: { ...SHAPE, pages: [1, 2], documents: [1, 1], kafka: 0, rights: 1, redis: ['single'] },
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
 * @property {() => void} last begins the last look
 * @property {() => string | undefined} behind what is not as promised yet
 * @property {() => Record<string, number>} counts
 */

class Run {
  /** @type {import('./parts/pages.js').Page[]} */
  pages = []

  /** @param {World} world @param {Scenario} shape @param {Without} without */
  constructor (world, shape, without) {
    this.world = world
    this.without = without
    const drawn = world.random.fork()
    this.drawn = drawn
    const machines = drawn.whole(...shape.machines)
    const workers = drawn.whole(...shape.workers)
    this.pageCount = Math.min(drawn.whole(...shape.pages), without.clients ?? Infinity)
    const documents = Math.min(drawn.whole(...shape.documents), without.documents ?? Infinity)
    this.guids = Array.from({ length: documents }, (_, i) => `doc-${i + 1}`)
    this.edited = ['edits-1']
    this.duration = Math.min(shape.duration, without.duration ?? Infinity)
    this.broker = drawn.chance(shape.kafka) ? new Broker(world) : undefined
    const redis = createRedisIn(world, drawn.pick(shape.redis))
    this.cluster = new Cluster(world, { machines, workers, redis, broker: this.broker })
    const service = world.process('service', { name: 'service', step: 0 })
    this.service = this.broker !== undefined && drawn.chance(0.5)
      ? new KafkaService(service, this.broker) : new Service(service)
    if (this.broker !== undefined) {
      const process = world.process('editor', { name: 'editor', step: 0 })
      this.editor = new Editor(process, this.broker, new Service(process), UPLINK)
    }
    /** Traffic beside that of the documents, each with promises of its own. @type {Traffic[]} */
    this.traffic = drawn.chance(shape.rights)
      ? [new RightsTraffic(world, { cluster: this.cluster, drawn: drawn.fork() })] : []
    this.plan = new FaultPlan(world, {
      cluster: this.cluster, pages: this.pages, broker: this.broker, duration: this.duration, kinds: shape.faults,
      without: without.faults ?? new Set()
    })
  }

  async play () {
    const { world, cluster } = this
    await world.run(START, () => cluster.isReady)
    if (!cluster.isReady) return world.violation('the cluster is not ready in time')
    const begin = world.time
    for (let i = 0; i < this.pageCount; i++) this.#openPage(i)
    for (const guid of this.guids) this.#publish(guid, begin + this.duration)
    this.#edit(begin + this.duration)
    for (const traffic of this.traffic) traffic.begin(begin + this.duration)
    this.plan.begin()
    await world.run(begin + this.duration)
    this.plan.end()
    await this.#converge()
  }

  /** @param {number} i */
  #openPage (i) {
    const { world, drawn } = this
    const process = world.process(`page-${i + 1}`, { name: `page-${i + 1}`, step: 0 })
    const options = {
      guids: [...this.guids.filter(() => drawn.chance(0.7)), ...this.edited],
      edited: this.edited,
      mayResync: () => this.plan.mayResync,
      isLost: (/** @type {string} */ guid, /** @type {string} */ writer, /** @type {number} */ number) =>
        this.broker?.hasLost(guid, JSON.stringify({ writer, number })) ?? false,
      load: (/** @type {string} */ guid) => {
        const number = this.service.accepted.get(guid)
        return number === undefined ? [] : [/** @type {[string, number]} */ ([this.service.process.name, number])]
      }
    }
    this.pages.push(drawn.chance(0.5) ? new StockPage(process, options) : new OwnPage(process, options))
  }

  /** Publishes records to a document until the end of the traffic. @param {string} guid @param {number} until ms */
  #publish (guid, until) {
    const { world, service, without } = this
    const drawn = this.drawn.fork()
    const pause = drawn.duration(250)
    service.process.enter(`publish ${guid}`, async () => {
      let records = 0
      while (world.time < until && records++ < (without.records ?? Infinity)) {
        await service.publish(guid)
        await service.process.clock.sleep(drawn.duration(pause))
      }
    })
  }

  /** Pages edit. @param {number} until ms */
  #edit (until) {
    const { world } = this
    const drawn = this.drawn.fork()
    for (const page of this.pages) {
      if (!(page instanceof OwnPage)) continue
      const pause = drawn.duration(900)
      const next = () => {
        if (world.time >= until) return
        page.edit()
        page.process.clock.timer(drawn.duration(pause), next)
      }
      page.process.enter('edit', next, drawn.duration(1000))
    }
  }

  /** The faults are over: everything has to become as promised, and one last record has to reach everyone. */
  async #converge () {
    const { world, service, cluster } = this
    const deadline = world.time + CONVERGE
    let isOver = false
    const open = () => this.pages.filter(({ process }) => process.isAlive)
    /** @returns {string | undefined} what is missing */
    const missing = () => {
      const unready = cluster.slots.filter(({ running }) => !running.isReady || !running.process.isAlive)
      if (unready.length > 0) return `not ready: ${unready.map(({ name }) => name).join(', ')}`
      if (service.waiting > 0) return 'publications without an answer'
      for (const page of open()) {
        if (page instanceof OwnPage && page.accepted < page.made) return `${page.name}: edits without an answer`
        if (!page.isConnected) return `${page.name} is not connected`
      }
      return this.#firstOf((traffic) => traffic.missing())
    }
    const look = (/** @type {() => string | undefined} */ what, /** @type {() => void} */ done) => {
      if (what() === undefined) return done()
      world.schedule(250, 'look', () => look(what, done), null)
    }
    const last = () => {
      service.process.enter('last records', () => { for (const guid of this.guids) service.publish(guid) })
      for (const traffic of this.traffic) traffic.last()
      world.schedule(1, 'look', () => look(behind, () => { isOver = true }), null)
    }
    const behind = () => {
      if (service.waiting > 0) return 'publications without an answer'
      for (const { name, documents } of open()) {
        for (const [guid, checker] of documents) {
          const accepted = service.accepted.get(guid)
          const has = checker.last.get(service.process.name)
          if (accepted !== undefined && has !== accepted) return `${name} has record ${has} of ${guid}, and not ${accepted}`
        }
      }
      return this.#firstOf((traffic) => traffic.behind())
    }
    look(missing, last)
    await world.run(deadline, () => isOver)
    if (!isOver) world.violation(`not as promised ${CONVERGE / 1000} s after the last fault: ${missing() ?? behind()}`)
  }

  /** @param {(traffic: Traffic) => string | undefined} missing @returns {string | undefined} */
  #firstOf (missing) { return this.traffic.map(missing).find((what) => what !== undefined) }

  /** @returns {Record<string, number>} */
  counts () {
    const checkers = this.pages.flatMap(({ documents }) => [...documents.values()])
    const sum = (/** @type {(checker: import('./oracle/document-checker.js').DocumentChecker) => number} */ of) =>
      checkers.reduce((total, checker) => total + of(checker), 0)
    return {
      'pages': this.pages.length,
      'records accepted': [...this.service.accepted.values()].reduce((total, count) => total + count, 0),
      'records received': sum(({ received }) => received),
      'edits accepted': this.pages.reduce((total, page) => total + (page instanceof OwnPage ? page.accepted : 0), 0),
      'resyncs': sum(({ resyncs }) => resyncs),
      ...Object.assign({}, ...this.traffic.map((traffic) => traffic.counts())),
      ...this.plan.counts
    }
  }
}
