import './loaded.js'
import { loadConfig } from '../../../src/config/load.js'
import { composeApi } from '../../../src/operate/roles/api.js'
import { composeGateway } from '../../../src/operate/roles/gateway.js'
import { composeIngest } from '../../../src/operate/roles/ingest.js'
import '../world/next-version.js'
import { Launcher } from './launcher.js'
import { MQTT_PORT, MQTT_PUBLIC } from './mqtt-line.js'
import { runRoleIn } from './role.js'

/** Known to services and pages of each world. */
export const SECRET = 'the secret by which the tokens of a simulated world are signed, with enough characters'
export const API_TOKEN = 'a-token-of-a-simulated-service'
/** Where pages connect: a balancer in front of all gateways. */
export const PUBLIC = 'balancer:80'
/** Settings of a cluster with the gRPC api. */
export const GRPC_SETTINGS = { GRPC_PORT: '3002' }
/** Time until an ended process is started again, ms. */
const RESTART_AFTER = 400

/**
 * @typedef {import('../world/world.js').World} World
 * @typedef {import('../world/sim-process.js').Machine} Machine
 * @typedef {import('./role.js').RunningRole} RunningRole
 *
 * @typedef {object} Slot a place for one process after the other
 * @property {string} name
 * @property {() => RunningRole} start
 * @property {RunningRole} running
 * @property {boolean} restarts
 */

/** @type {Record<string, any>} */
const COMPOSE = { gateway: composeGateway, api: composeApi, ingest: composeIngest }

/** inkcast as in production: machines with gateway workers, an api and perhaps an ingest each, and Redis. */
export class Cluster {
  /** @type {Slot[]} */
  slots = []
  /** @type {Machine[]} */
  machines = []
  /** Of the machines; none: processes are started as by PM2. @type {Launcher[]} */
  launchers = []

  /**
   * @param {World} world
   * @param {object} shape
   * @param {number} shape.machines
   * @param {number} shape.workers per machine
   * @param {import('./redis/kinds.js').RedisOfWorld} shape.redis
   * @param {import('./broker.js').Broker} [shape.broker] default: publications go straight to Redis
   * @param {Record<string, string>} [shape.env]
   * @param {boolean} [shape.inspects] whether processes have inspectors
   * @param {boolean} [shape.launches] whether each machine has a launcher
   */
  constructor (world, { machines, workers, redis, broker, env = {}, inspects = false, launches = false }) {
    this.world = world
    this.broker = broker
    this.inspects = inspects
    this.redis = redis
    for (let i = 0; i < machines; i++) {
      const machine = { name: `m${i + 1}`, step: 0 }
      this.machines.push(machine)
      const config = loadConfig({
        env: {
          NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '3000', WORKERS: String(workers), API_PORT: '3001',
          REDIS_URL: this.redis.url, AUTH_JWT_SECRET: SECRET, API_TOKENS: `service:${API_TOKEN}`,
          ...machines > 1 ? { PEER_HOST: machine.name } : {},
          ...broker === undefined ? {} : { KAFKA_BROKERS: 'kafka:9092' },
          ...redis.env,
          ...env
        }
      })
      const add = launches ? this.#addLauncher(machine, config) : this.#addSlot.bind(this, machine, config)
      for (let slot = 0; slot < workers; slot++) add('gateway', slot)
      add('api', 0)
      if (broker !== undefined) add('ingest', 0)
    }
    for (const [name, port] of [[PUBLIC, 3000], [MQTT_PUBLIC, MQTT_PORT]])
      world.network.alias(String(name), () => this.#open.map((machine) => `${machine.name}:${port}`))
    world.network.alias('api:80', () => this.machines.map(({ name }) => `${name}:3001`))
    world.network.alias('grpc:80', () => this.machines.map(({ name }) => `${name}:${GRPC_SETTINGS.GRPC_PORT}`))
  }

  /**
   * @param {Machine} machine
   * @param {import('../../../src/config/load.js').Config} config
   * @returns {(role: string, number: number) => void} adds a place of it
   */
  #addLauncher (machine, config) {
    /** @type {Record<string, number>} */
    const started = {}
    const launcher = new Launcher(this.world, {
      machine, config,
      startRole: (role, slot, env) => {
        const name = `${machine.name}/${role}-${slot}`
        started[name] = (started[name] ?? 0) + 1
        return this.#run(name, started[name], { machine, config, role, slot, env })
      }
    })
    this.launchers.push(launcher)
    return (role, number) => {
      /** @type {RunningRole | undefined} */
      let last
      this.slots.push({
        name: `${machine.name}/${role}-${number}`,
        restarts: true,
        start () { throw new Error('the launcher starts it') },
        // the last one, while there is none
        get running () { return /** @type {RunningRole} */ (last = launcher.running(role, number) ?? last) }
      })
    }
  }

  /**
   * @param {string} name
   * @param {number} starts
   * @param {object} of
   * @param {Machine} of.machine
   * @param {import('../../../src/config/load.js').Config} of.config
   * @param {string} of.role
   * @param {number} of.slot
   * @param {Record<string, string | undefined>} [of.env]
   */
  #run (name, starts, { machine, ...of }) {
    const process = this.world.process(starts === 1 ? name : `${name}.${starts}`, machine)
    process.isNext = machine.isNext === true
    return runRoleIn({
      process, ...of, compose: COMPOSE[of.role], inspects: this.inspects,
      createKafka: () => {
        if (this.broker === undefined) throw new Error('this world has no Kafka')
        return this.broker.driver(process)
      }
    })
  }

  /**
   * @param {Machine} machine
   * @param {import('../../../src/config/load.js').Config} config
   * @param {string} role
   * @param {number} number
   */
  #addSlot (machine, config, role, number) {
    const { world } = this
    const name = `${machine.name}/${role}-${number}`
    let started = 0
    const start = () => {
      const running = this.#run(name, ++started, { machine, config, role, slot: number })
      const { process } = running
      process.onEnd(() => {
        if (slot.running === running && slot.restarts)
          world.schedule(RESTART_AFTER, 'restart', () => { if (slot.running === running) slot.running = start() }, null)
      })
      return running
    }
    /** @type {Slot} */
    const slot = { name, start, restarts: true, running: start() }
    this.slots.push(slot)
  }

  /** Machines that take new clients: all, if none is left. @returns {Machine[]} */
  get #open () {
    const cordoned = new Set(this.launchers.filter(({ isCordoned }) => isCordoned).map(({ machine }) => machine))
    const some = this.machines.filter((machine) => !cordoned.has(machine))
    return some.length > 0 ? some : this.machines
  }

  /** @param {string} [role] @returns {RunningRole[]} that are alive */
  running (role) {
    return this.slots.filter(({ name }) => role === undefined || name.includes(role)).map(({ running }) => running)
      .filter((running) => running?.process.isAlive)
  }

  get isReady () { return this.slots.every(({ running }) => running?.isReady && running.process.isAlive) }

  /**
   * Without a launcher: the next process first, then the end of the one before.
   * @param {Slot} slot
   * @param {() => void} [done] called when the one before begins to end
   */
  reload (slot, done = () => {}) {
    const before = slot.running
    const next = slot.running = slot.start()
    const look = () => {
      if (slot.running === next && !next.isReady) return void this.world.schedule(50, 'reload', look, null)
      if (before.process.isAlive) before.stop()
      done()
    }
    this.world.schedule(50, 'reload', look, null)
  }

  /**
   * Another version is installed on a machine, and its processes are replaced one after the other.
   * @param {Machine} machine
   * @param {boolean} isNext
   */
  install (machine, isNext) {
    machine.isNext = isNext
    const launcher = this.launchers.find((one) => one.machine === machine)
    if (launcher !== undefined) return launcher.reload()
    const left = this.slots.filter(({ name }) => name.startsWith(`${machine.name}/`))
    const reloadNext = () => {
      const slot = left.shift()
      if (slot !== undefined) this.reload(slot, reloadNext)
    }
    reloadNext()
  }
}
