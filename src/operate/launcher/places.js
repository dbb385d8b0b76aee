import { fileURLToPath } from 'node:url'
import { within } from '../../base/common/wait.js'
import { processesOf } from '../../config/load.js'
import { HangWatch } from './hang-watch.js'
import { GATEWAY_FLAGS } from '../../base/process/runtime-flags.js'
import { chooseAccepting } from './accepting.js'
import { moveClients } from './paced-move.js'
import { Slot } from './slot.js'
import { createPortSockets } from './slot-sockets.js'

/** Maximum time for a new process to become ready during a reload, ms. */
const READY_TIMEOUT = 30_000
/** Processes are killed this long after DRAIN_TIMEOUT, ms. */
const KILL_AFTER = 3000
/** Ingest and api stop first, so that their accepted records still reach the workers. */
const STOP_ORDER = ['ingest', 'api', 'gateway', 'store']
/** Maximum share of DRAIN_TIMEOUT that each step of the stop waits for the previous one. */
const STOP_SHARE = 0.2

/**
 * @typedef {import('./child.js').Child} Child
 *
 * The parts of the system that start processes and look at them; a simulation has its own.
 * @typedef {import('./hang-watch.js').Look & { fork: import('./child.js').Fork }} LauncherHost
 */

/**
 * The processes of this machine: starts them, starts dead ones again, decides which workers accept connections, passes
 * connections between workers, replaces one process after the other in a reload, and stops all in order.
 */
export class Places {
  /** @type {Slot[]} */
  slots
  /** Of the gateway workers, if the launcher keeps them. */
  sockets
  hangWatch
  /** @type {'running' | 'reloading' | 'stopping'} */
  state = 'running'
  #reloadAgain = false
  #config
  #events
  #log
  #clock
  /** During a reload: the gateway worker that was started last. @type {Child | undefined} */
  #newest

  /**
   * @param {import('../../observe/services.js').Services} services
   * @param {object} parts
   * @param {import('../../config/load.js').Config} parts.config
   * @param {LauncherHost} parts.host
   * @param {Record<string, string | undefined>} parts.env of processes that are started from now on
   * @param {boolean} parts.keepsSockets
   * @param {object} parts.events
   * @param {() => void} parts.events.onChange a process is ready, or none is in its place
   * @param {(message: string) => void} parts.events.onWaits what the start of a process waits for
   * @param {(reason: string) => void} parts.events.onGiveUp a process does not start or does not stay up
   */
  constructor (services, { config, host, env, keepsSockets, events }) {
    const { log, metrics, clock, random } = services
    this.#config = config
    this.#events = events
    this.#log = log
    this.#clock = clock
    const places = Object.entries(processesOf(config)).flatMap(([role, count]) =>
      Array.from({ length: count }, (_, number) => ({ role, number })))
    this.slots = places.map(({ role, number }) => {
      /** @type {Slot} */
      const slot = new Slot({
        role,
        slot: number,
        file: fileURLToPath(new URL(`../../${role}.js`, import.meta.url)),
        // these listen, and while they are replaced old and new share the port
        clustered: role === 'api' || (role === 'gateway' && !keepsSockets),
        env,
        execArgv: [...(role === 'gateway' ? GATEWAY_FLAGS : []), ...process.execArgv],
        stopTimeout: config.gateway.drainTimeout + KILL_AFTER
      }, {
        onChange: () => this.#changed(),
        onWaits: events.onWaits,
        onListen: (child, listener) => this.sockets?.give(child, listener),
        onHandover: (message, handle) => this.#handOver(message, handle),
        onReplaced: (child) => { if (role === 'gateway') this.#newest = child },
        onRetire: async (old, child) => { if (role === 'gateway') await this.#moveAway(old, child) },
        onAnswer: (child, inspected) => this.hangWatch.answered(/** @type {any} */ (child), inspected),
        onRestart ({ code, signal, message }, loop) {
          metrics.worker_restarts.inc({ role })
          const process = { process: slot.name, code, signal }
          if (loop === undefined) log.warn(process, message ?? 'process ended unexpectedly, starting it again')
          else log.error(process, `${loop}; it is started again within 10 s, the other processes go on`)
        },
        othersServe: () =>
          this.slots.some((other) => other !== slot && other.settings.role === 'gateway' && other.ready),
        onGiveUp: (reason) => events.onGiveUp(`${slot.name}: ${reason}`)
      }, { fork: host.fork, clock, random })
      return slot
    })
    this.sockets = keepsSockets
      ? createPortSockets(config.gateway, this.slots.filter((slot) => slot.settings.role === 'gateway'))
      : undefined
    this.hangWatch = new HangWatch({
      // a process that is starting or stopping has a timeout of its own
      processes: () => /** @type {any[]} */ (this.slots.map(({ current }) => current).filter((child) =>
        child !== undefined && child.ready && child.answers && !child.stopping && !child.exited)),
      isReady: (name) => this.slots.find((slot) => slot.name === name)?.ready ?? true,
      onChange: () => this.#changed(),
      host, metrics, log, clock
    })
  }

  get stopping () { return this.state === 'stopping' }
  get ready () { return this.slots.every((slot) => slot.ready) }

  start () {
    const store = this.slots.find((slot) => slot.settings.role === 'store')
    const startOthers = () => { if (!this.stopping) for (const slot of this.slots) if (slot !== store) slot.start() }
    if (store === undefined) return startOthers()
    // first, so that the others find it
    store.start()
    store.current?.once('ready', startOthers)
  }

  #changed () {
    chooseAccepting(
      this.slots.flatMap(({ settings: { role }, serving }) => role === 'gateway' && serving ? [serving] : []),
      this.#newest
    )
    this.sockets?.cover()
    this.#events.onChange()
  }

  /** @param {Child} old @param {Child} child its successor in a reload */
  async #moveAway (old, child) {
    old.accept(false)
    const begun = this.#clock.monotonic()
    const clients = await moveClients({ from: old, to: child, stopped: () => this.stopping, clock: this.#clock })
    const ms = Math.round(this.#clock.monotonic() - begun)
    if (clients > 0) this.#log.info({ process: old.name, clients, ms }, 'clients moved to its successor')
  }

  /** @param {string} name of a worker whose clients are being moved @param {number} seconds */
  sendAway (name, seconds) {
    const child = this.slots.find((slot) => slot.name === name)?.serving
    if (child === undefined) return
    child.moves++
    this.#clock.timer(seconds * 1000, () => {
      child.moves--
      this.#changed()
    }).unref()
    this.#changed()
  }

  /** @param {{ to: number }} message @param {any} handle a connection that belongs to worker number `to` */
  #handOver (message, handle) {
    if (!handle) return
    // a process that has just given its number back may still be there
    const owner = this.slots
      .flatMap((slot) => slot.children)
      .filter((child) => child.workerNumber === message.to && !child.exited)
      .sort((a, b) => b.startedAt - a.startedAt)[0]
    // the client's connection is closed, and it reconnects
    if (owner === undefined) handle.close()
    else owner.handOver(message, handle)
  }

  /** @returns {Promise<string | null>} why not all processes were replaced */
  async reload () {
    if (this.stopping) return 'everything is stopping'
    this.#reloadAgain = this.state === 'reloading'
    if (this.#reloadAgain) return 'a reload is in progress; another one follows it'
    let problem
    this.state = 'reloading'
    try {
      do {
        this.#reloadAgain = false
        problem = await this.#reloadOnce()
        this.#acceptAll()
      } while (this.#reloadAgain && !this.stopping)
    } finally {
      if (this.state === 'reloading') this.state = 'running'
    }
    return problem
  }

  #acceptAll () {
    this.#newest = undefined
    this.#changed()
  }

  /** @returns {Promise<string | null>} why not all processes were replaced */
  async #reloadOnce () {
    this.#log.info('reloading, one process at a time')
    const lastGateway = this.slots.findLast((slot) => slot.settings.role === 'gateway')
    // the data of the store ends with its process
    for (const slot of this.slots.filter(({ settings }) => settings.role !== 'store')) {
      const problem = await slot.reload(READY_TIMEOUT)
      if (slot === lastGateway) this.#acceptAll()
      if (this.stopping) return 'everything is stopping'
      if (problem !== null) {
        this.#log.error(
          { process: slot.name },
          `not reloaded: ${problem}; the reload ends here, and what has not been replaced serves as before`
        )
        return `${slot.name}: ${problem}`
      }
    }
    this.#log.info('reload finished')
    return null
  }

  /** Stops all processes. @returns {Promise<boolean>} false: some had to be killed */
  async stop () {
    this.state = 'stopping'
    this.sockets?.stop()
    // a signal to the whole process group has reached them as well
    for (const slot of this.slots) slot.expectEnd()
    const { drainTimeout } = this.#config.gateway
    let inTime = true
    const timer = this.#clock.timer(drainTimeout + KILL_AFTER, () => {
      this.#log.error('processes did not stop in time, killing them')
      inTime = false
      this.kill()
    })
    const stops = []
    for (const role of STOP_ORDER) {
      const ofRole = this.slots.filter((slot) => slot.settings.role === role)
      const stopped = Promise.all(ofRole.map((slot) => slot.stop()))
      stops.push(stopped)
      await within(stopped, drainTimeout * STOP_SHARE, undefined, this.#clock)
    }
    await Promise.all(stops)
    timer.stop()
    return inTime
  }

  kill () { for (const slot of this.slots) slot.kill() }
}
