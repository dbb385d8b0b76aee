import { EventEmitter } from 'node:events'
import { createCordon } from '../../../src/operate/admin/control/cordon.js'
import { createMoveControl } from '../../../src/operate/admin/control/move.js'
import { Places } from '../../../src/operate/launcher/places.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { worldLog } from './log.js'

/** Time until it is started again when it has given up, as by systemd, ms. */
const RESTART_AFTER = 1000
/** Between two attempts to cordon a machine whose processes do not answer, ms. */
const AGAIN = 500
/** Time in which a machine notices that a process has ended, ms. */
const NOTICE = 0.1

/**
 * @typedef {import('./role.js').RunningRole} RunningRole
 *
 * @callback StartRole
 * @param {string} role
 * @param {number} slot
 * @param {Record<string, string | undefined>} env
 * @returns {RunningRole}
 */

/** A process as the launcher has it: signals and messages go to its role. */
class Forked extends EventEmitter {
  /** @param {RunningRole} running @param {import('../world/sim-process.js').SimProcess} launcher */
  constructor (running, launcher) {
    super()
    const { process } = this.running = running
    process.launcher = launcher
    process.toLauncher = (message) => this.emit('message', message)
    process.onEnd((code) => process.world.schedule(NOTICE, 'exit', () => {
      this.emit('exit', code, code === null ? 'SIGKILL' : null)
    }, launcher))
  }

  get pid () { return this.running.process.pid }

  /** @param {object} message */
  send (message) {
    this.running.process.message(message)
    return true
  }

  /** @param {string} signal */
  kill (signal) {
    const { process } = this.running
    if (signal === 'SIGKILL') process.world.schedule(NOTICE, 'SIGKILL', () => process.end(null), null)
    else this.running.stop()
    return true
  }
}

/** The launcher of one machine: its decisions are those of production, and the world stands in for fork and signals. */
export class Launcher {
  /** Of this start. @type {import('../world/sim-process.js').SimProcess} */
  process = /** @type {any} */ (undefined)
  /** Of this start. @type {Places | undefined} */
  places
  /** Every process that it has started. @type {Map<number, RunningRole>} */
  #started = new Map()
  #env = /** @type {Record<string, string | undefined>} */ ({})
  #starts = 0

  /**
   * @param {import('../world/world.js').World} world
   * @param {object} options
   * @param {import('../world/sim-process.js').Machine} options.machine
   * @param {import('../../../src/config/load.js').Config} options.config
   * @param {StartRole} options.startRole
   */
  constructor (world, { machine, config, startRole }) {
    this.world = world
    this.machine = machine
    this.config = config
    this.startRole = startRole
    // a pause is no failure of a process, and its end by the launcher no surprise; nor is a reload that a fault stops,
    // or a process that faults end again and again
    for (const part of [
      'is killed because it did not answer', 'not reloaded: ', 'processes did not stop in time', ' times in a row soon after'
    ]) world.expected.add(part)
    this.#start()
  }

  /** Whether balancers send no new client. */
  get isCordoned () { return this.#env.INKCAST_CORDONED === '1' }

  /** @param {string} role @param {number} number @returns {RunningRole | undefined} that is in this place */
  running (role, number) {
    const place = this.places?.slots.find(({ settings }) => settings.role === role && settings.slot === number)
    return this.#started.get(place?.current?.pid ?? 0)
  }

  #start () {
    const { world, machine } = this
    const name = `${machine.name}/launcher`
    const process = this.process = world.process(this.#starts++ === 0 ? name : `${name}.${this.#starts}`, machine)
    process.onEnd(() => world.schedule(RESTART_AFTER, 'start of the launcher', () => this.#start(), null))
    process.enter('start', () => this.#run())
  }

  async #run () {
    const { process, process: { clock, random } } = this
    const env = this.#env = {}
    const log = worldLog(process)
    const metrics = createMetrics({ role: 'launcher', processMetrics: false })
    const places = this.places = new Places({ log, metrics, clock, random }, {
      config: this.config,
      host: {
        fork: ({ role, slot, env: own }) => {
          const running = this.startRole(role, slot, own)
          this.#started.set(running.process.pid, running)
          return /** @type {any} */ (new Forked(running, process))
        },
        usageOf: (pid) => ({ state: this.#started.get(pid)?.process.isPaused ? 'T' : 'S', cpuMs: 0, queuedMs: 0 }),
        traced: () => false
      },
      env,
      keepsSockets: false,
      events: {
        onChange () {},
        onWaits () {},
        onGiveUp (reason) {
          if (places.stopping) return
          log.warn(reason)
          places.hangWatch.stop()
          places.stop().then(() => process.end(1))
        }
      }
    })
    places.start()
    places.hangWatch.start()
  }

  /** As by SIGHUP. */
  reload () { this.process.enter('reload', () => this.places?.reload()) }

  /** As by `inkcast cordon`, until each process has it. @param {boolean} cordoned */
  cordon (cordoned) {
    const { process } = this
    const env = this.#env
    const control = createCordon({
      directory: directoryOf(this.machine), onChange: (value) => { env.INKCAST_CORDONED = value ? '1' : undefined }
    })
    process.enter('cordon', async () => {
      env.INKCAST_CORDONED = cordoned ? '1' : undefined
      while (this.isCordoned === cordoned) {
        try {
          await control.set(cordoned)
          return
        } catch {
          // a process does not answer
          await process.clock.sleep(AGAIN)
        }
      }
    })
  }

  /** As by `inkcast move`. @param {{ share: number, rate: number }} move @param {string} [name] of a worker */
  move (move, name) {
    const control = createMoveControl({
      directory: directoryOf(this.machine), onBegin: (worker, seconds) => this.places?.sendAway(worker, seconds)
    })
    // a worker that does not answer moves nothing
    this.process.enter('move', () => control.begin(move, name).catch(() => {}))
  }
}

/** @param {import('../world/sim-process.js').Machine} machine */
export const directoryOf = (machine) => `/run/${machine.name}`
