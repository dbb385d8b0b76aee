import '../world/patched-time.js'
import '../world/patched-net.js'
import '../world/patched-fetch.js'
import '../world/patched-locks.js'
import assert from 'node:assert/strict'
import http from 'node:http'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { Broker } from '../parts/broker.js'
import { API_TOKEN, Cluster } from '../parts/cluster.js'
import { DOWNLINK } from '../parts/kafka-service.js'
import { createRedisIn } from '../parts/redis/kinds.js'
import { World } from '../world/world.js'
import { ScriptedClient } from './scripted-client.js'
import { ScriptedPage } from './scripted-page.js'
import { send } from './send.js'

/** Topic of events for services. */
const UPLINK = 'documents.uplink'
/** Virtual time for a condition, and for an answer, ms. */
const PATIENCE = 60_000

/**
 * @typedef {import('../world/sim-process.js').SimProcess} SimProcess
 * @typedef {import('../parts/cluster.js').Slot} Slot
 *
 * @typedef {object} Shape
 * @property {number} [machines] default 1
 * @property {number} [workers] of each machine, default 2
 * @property {import('../parts/redis/kinds.js').RedisKind} [redis] default `single`
 * @property {boolean} [kafka] default: publications go straight to Redis
 * @property {Record<string, string>} [env] settings
 * @property {boolean} [inspects] whether processes have inspectors
 * @property {boolean} [launches] whether each machine has a launcher; default: processes are started as by PM2
 * @property {readonly string[]} [errors] parts of the error lines that the test brings about
 * @property {number} [seed] of latencies, choices of listeners and random values; default 1
 */

/**
 * A cluster in virtual time whose schedule a test writes: processes, network, Redis and Kafka are those of the
 * simulator, and production code runs in them. A wait costs nothing, and a run repeats exactly.
 */
export class ScriptedCluster {
  /** @type {Map<string, SimProcess>} */
  #outside = new Map()
  #agent = new http.Agent({ keepAlive: true })

  /** @param {Shape} shape */
  constructor ({
    machines = 1, workers = 2, redis = 'single', kafka = false, env, inspects, launches, errors = [], seed = 1
  }) {
    this.world = new World(seed)
    this.broker = kafka ? new Broker(this.world) : undefined
    this.redis = createRedisIn(this.world, redis)
    this.cluster = new Cluster(this.world, {
      machines, workers, redis: this.redis, broker: this.broker, env, inspects, launches
    })
    for (const part of errors) this.world.expected.add(part)
  }

  /** Virtual ms since the world began. */
  get time () { return this.world.time }

  /** @param {number} ms of virtual time pass @returns {Promise<void>} */
  async pass (ms) { await this.world.run(this.world.time + ms) }

  /** Orders are accepted after it: workers from before the empty Redis would be back. */
  async takesOrders () { await this.pass(4000) }

  /**
   * @template T
   * @param {() => T} condition asked after each turn; only looks
   * @param {{ timeout?: number, message?: () => unknown }} [options] of virtual ms; the message is for a failure
   * @returns {Promise<NonNullable<T>>} its first true value
   */
  async until (condition, { timeout = PATIENCE, message = condition } = {}) {
    /** @type {any} */
    let value = condition()
    if (!value) await this.world.run(this.world.time + timeout, () => Boolean(value = condition()))
    if (!value) assert.fail(`not within ${timeout} ms: ${inspect(message(), { depth: 4 })} (${condition})`)
    return value
  }

  /**
   * Runs something in a turn of a process, as far as it takes.
   * @template T
   * @param {SimProcess} process
   * @param {() => T | Promise<T>} run
   * @param {number} [timeout] virtual ms
   * @returns {Promise<T>}
   */
  async act (process, run, timeout = PATIENCE) {
    /** @type {{ value?: T, error?: unknown } | undefined} */
    let end
    process.enter('act', async () => {
      try {
        end = { value: await run() }
      } catch (error) {
        end = { error }
      }
    })
    await this.until(() => end !== undefined || !process.isAlive, { timeout, message: () => String(run) })
    if (end === undefined) throw new Error(`${process.name} has ended`)
    if ('error' in end) throw end.error
    return /** @type {T} */ (end.value)
  }

  /** A process outside of the cluster: of a page, or of a service. @param {string} name @returns {SimProcess} */
  outside (name) {
    let process = this.#outside.get(name)
    if (process === undefined) {
      process = this.world.process(name, { name, step: 0 })
      process.isClient = true
      this.#outside.set(name, process)
    }
    return process
  }

  /**
   * A page with a connected stock client.
   * @param {string} uid
   * @param {import('./scripted-client.js').ClientOptions & { on?: Slot, timeout?: number }} [options] on: its worker
   * @returns {Promise<ScriptedClient>}
   */
  async connect (uid, { on, timeout, ...options } = {}) {
    for (let attempts = 0; attempts < 100; attempts++) {
      const client = this.open(uid, options)
      await this.until(() => client.connected, { timeout, message: () => client.failures })
      if (on === undefined || this.slotOf(client) === on) return client
      await client.close()
    }
    throw new Error(`no connection of 100 reaches ${on?.name}`)
  }

  #clients = 0

  /**
   * A page that begins to connect.
   * @param {string} uid
   * @param {import('./scripted-client.js').ClientOptions} [options]
   */
  open (uid, options) {
    return new ScriptedClient(this, this.outside(`page-${++this.#clients}`), uid, options)
  }

  /**
   * A page with inkcast-client that begins to connect.
   * @param {string} uid
   * @param {ConstructorParameters<typeof ScriptedPage>[3]} [options]
   */
  page (uid, options) { return new ScriptedPage(this, this.outside(`page-${++this.#clients}`), uid, options) }

  /** The worker that holds the connection of a client. @param {ScriptedClient} client @returns {Slot | undefined} */
  slotOf ({ process }) {
    const owners = this.world.network.lines.filter(({ owner }) => owner === process).map(({ peer }) => peer?.owner)
    return this.cluster.slots.find(({ running }) => owners.includes(running.process))
  }

  /** Places of gateway workers. @returns {Slot[]} */
  get gateways () { return this.cluster.slots.filter(({ name }) => name.includes('gateway')) }

  /**
   * A request of a service to an api of the cluster.
   * @param {string} method
   * @param {string} path
   * @param {{ value?: unknown, headers?: Record<string, string>, token?: string, at?: string }} [options] value: sent
   *   as JSON; at: name of a machine, default: any that is reached
   * @returns {Promise<{ status: number, body: any }>}
   */
  async request (method, path, { value, headers, token = API_TOKEN, at } = {}) {
    const { status, text } = await this.act(this.outside('service'), () => send({
      ...at === undefined ? { host: 'api', port: 80 } : { host: at, port: 3001 }, path, method, agent: this.#agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: value === undefined ? undefined : JSON.stringify(value)
    }))
    return { status, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** @param {string} guid @param {unknown} value @param {Record<string, string>} [headers] */
  async publish (guid, value, headers = {}) {
    const { status, body } = await this.request('POST', `/v1/documents/${guid}/broadcast`, {
      value, headers: { 'x-event': 'record', ...headers }
    })
    assert.ok(status >= 200 && status < 300, `${status} ${inspect(body)}`)
    return body
  }

  /**
   * A record of a service's own producer.
   * @param {Record<string, string>} headers `x-operator` and so on
   * @param {any} value
   * @param {(value: any) => string | Buffer} [encode]
   * @returns {Promise<void>} it is written
   */
  async produce (headers, value, encode = JSON.stringify) {
    const broker = this.#kafka
    const service = this.outside('service')
    await this.act(service, () => broker.produce(service, DOWNLINK, [{
      key: headers['x-guid'] ?? headers['x-uid'], value: encode(value), headers
    }]))
  }

  /** Records that the cluster has written to Kafka for services. */
  get uplink () { return this.records(UPLINK) }

  /** @param {string} topic @returns {{ headers: Record<string, string>, value: any }[]} partition by partition */
  records (topic) {
    return this.#kafka.topic(topic).partitions.flatMap(({ records }) => records).map(({ headers, value }) => ({
      headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])),
      value: JSON.parse(String(value))
    }))
  }

  /** @type {Redis | undefined} */
  #operator

  /**
   * A command of an operator at the (first) Redis.
   * @param {string} name
   * @param {...string | number} args
   * @returns {Promise<any>}
   */
  command (name, ...args) {
    const [{ name: host, port }] = this.redis.servers
    return this.act(this.outside('operator'), () => {
      // without a listener ioredis prints each error
      this.#operator ??= new Redis(port, host).on('error', () => {})
      return this.#operator.call(name, ...args)
    })
  }

  get #kafka () {
    if (this.broker === undefined) throw new Error('this cluster has no Kafka')
    return this.broker
  }

  /** As by SIGKILL; the next process of the place starts soon. @param {Slot} slot */
  kill (slot) { slot.running.process.end(null) }

  /**
   * A process does not reach another machine, and is not reached.
   * @param {SimProcess} process
   * @param {string} machine name
   * @param {number} ms
   */
  cutOff (process, machine, ms) {
    this.world.network.block((a, b) => (a === process && b.machine.name === machine) ||
      (b === process && a.machine.name === machine), ms)
  }
}

/**
 * Plays a test in a cluster that is ready, and checks that no process logged an error that the test does not name, and
 * none ended by an exception.
 *
 * @param {Shape} shape
 * @param {(cluster: ScriptedCluster) => Promise<void>} play
 * @returns {Promise<void>}
 */
export async function inCluster (shape, play) {
  const scripted = new ScriptedCluster(shape)
  await scripted.until(() => scripted.cluster.isReady, {
    message: () => [...scripted.world.violations, ...scripted.cluster.slots.map(({ running }) => running?.failure)]
  })
  try {
    await play(scripted)
  } finally {
    scripted.world.network.end()
  }
  assert.deepEqual(scripted.world.violations, [])
}
