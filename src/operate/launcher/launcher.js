import cluster from 'node:cluster'
import { rm } from 'node:fs/promises'
import { createLogLevels } from '../admin/log-levels.js'
import { makeRunDirectory, openRunDirectory, storeSocket } from '../admin/run-directory.js'
import { serveAdmin } from '../admin/serve.js'
import { createStatus } from '../admin/status.js'
import { banner } from '../roles/banner.js'
import { loadDemo } from '../roles/demo.js'
import { needsStore, processesOf } from '../../config/load.js'
import { settingWarnings } from '../../people/workers/setting-warnings.js'
import { createLifecycle } from '../../base/process/lifecycle.js'
import { createLog, exitAfterLog } from '../../base/common/log.js'
import { createLogLevel } from '../../base/common/log-level-control.js'
import { createMetrics } from '../../observe/metrics/metrics.js'
import { createMemoryAtRest, REST } from '../../base/process/memory-at-rest.js'
import { MEMORY_ENV } from '../../base/process/runtime-flags.js'
import { reportInMemory } from '../roles/in-memory.js'
import { startError } from '../../base/process/start-error.js'
import { launcherHost } from './host.js'
import { Places } from './places.js'
import { canReusePort } from './reuse-port.js'

/**
 * @typedef {Pick<import('../../observe/services.js').Services, 'clock' | 'random'> & { configFile?: string }} Options
 *
 * @param {import('../../config/load.js').Config} config
 * @param {Options} options
 */
export async function launch (config, options) {
  await new Launcher(config, await makeRunDirectory(), options).start()
}

/**
 * Runs the cluster on this machine: one gateway worker per core, ingest (with Kafka), api, and without REDIS_URL the
 * built-in store; restarts dead processes, merges metrics and readiness, passes connections between workers, reloads on
 * SIGHUP, stops in order on SIGTERM.
 */
class Launcher {
  /** ready: all processes have been ready once. @type {'starting' | 'ready' | 'stopping'} */
  state = 'starting'
  /** Messages of processes that wait at their start; until all are ready. @type {Set<string>} */
  #waits = new Set()
  #keepsSockets = canReusePort()
  /** Of processes that are started from now on. @type {Record<string, string | undefined>} */
  #env

  /**
   * @param {import('../../config/load.js').Config} config
   * @param {string} directory with the private listeners of the processes; removed at the stop
   * @param {Options} options
   */
  constructor (config, directory, { configFile, clock, random }) {
    const metrics = createMetrics({ role: 'launcher' })
    const usual = config.admin.logLevel
    const log = createLog({
      level: usual,
      pretty: !config.production,
      role: 'launcher',
      onDrop: (reason, lines) => metrics.log_lines_dropped.inc({ reason }, lines),
      clock
    })
    this.config = config
    this.directory = directory
    this.services = { log, metrics, clock, random }
    this.logLevel = createLogLevel({ log, usual })
    this.status = createStatus({ name: 'launcher', metrics })
    this.lifecycle = createLifecycle({ log })
    this.redisUrls = needsStore(config) ? [`unix://${storeSocket(directory)}`] : config.redis.urls
    this.#env = {
      ...MEMORY_ENV,
      ...process.env,
      INKCAST_RUN_DIRECTORY: directory,
      INKCAST_MODE: config.mode,
      INKCAST_CONFIG_FILE: configFile,
      INKCAST_SOCKETS: this.#keepsSockets ? '1' : undefined,
      ...(needsStore(config) && { REDIS_URL: this.redisUrls[0] })
    }
    this.places = new Places(this.services, {
      config,
      host: launcherHost,
      env: this.#env,
      keepsSockets: this.#keepsSockets,
      events: {
        onChange: () => this.#onChange(),
        onWaits: (message) => this.#onWaits(message),
        onGiveUp: (reason) => {
          if (this.state !== 'stopping') console.error(`inkcast: ${reason}`)
          this.#stop(1)
        }
      }
    })
  }

  async start () {
    // Processes accept connections themselves: passing each one through the launcher costs a handshake almost twice.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    this.lifecycle.onStop('run directory', () => rm(this.directory, { recursive: true, force: true }))
    const logLevels = createLogLevels({
      directory: this.directory,
      own: { name: 'launcher', control: this.logLevel },
      // processes that are started later
      onAll: (level) => { this.#env.INKCAST_LOG_LEVEL = level === 'default' ? undefined : level }
    })
    this.#listenToSignals(logLevels)
    try {
      await this.#startParts(logLevels)
    } catch (error) {
      console.error(`inkcast: ${startError(error)}`)
      await this.lifecycle.stop()
      process.exit(1)
    }
    this.places.start()
  }

  /** @param {import('../admin/log-levels.js').LogLevels} logLevels */
  #listenToSignals (logLevels) {
    const { log } = this.services
    for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
      process.on(signal, () => {
        this.#onStopSignal(signal).catch((error) => {
          log.error({ err: error }, 'stop failed')
          process.exit(1)
        })
      })
    }
    process.on('SIGUSR2', () => {
      logLevels.set(this.logLevel.toggled).catch((error) => log.error({ err: error }, 'the log level could not be changed'))
    })
    process.on('SIGHUP', () => { this.places.reload().catch((error) => log.error({ err: error }, 'reload failed')) })
  }

  /** Everything but the processes. @param {import('../admin/log-levels.js').LogLevels} logLevels */
  async #startParts (logLevels) {
    const { config, directory, lifecycle, places, status, services: { log, metrics, clock, random } } = this
    await serveAdmin({ log, metrics, clock }, {
      config, directory, lifecycle, status,
      expected: processesOf(config),
      launcher: {
        logLevels,
        own: (metrics) => status.read(metrics),
        isHung: (pid) => places.slots.some(({ current }) => current?.hung && current.pid === pid),
        // processes that are started later
        onCordon: (cordoned) => { this.#env.INKCAST_CORDONED = cordoned ? '1' : undefined },
        onMove: (name, seconds) => places.sendAway(name, seconds)
      }
    })
    // before the first socket in it: its path may be too long for one
    await openRunDirectory(directory)
    const demo = await loadDemo({ config, log, clock, random })
    await demo?.startControl({
      config, runDirectory: directory, redisUrls: this.redisUrls, places, status, lifecycle
    })
    await places.sockets?.start()
    await lifecycle.start('hang watch', places.hangWatch)
    await lifecycle.start('memory at rest', createMemoryAtRest({ clock, rest: REST.without }))
  }

  #onChange () {
    if (this.state !== 'starting' || !this.places.ready) return
    this.state = 'ready'
    this.status.started()
    this.#waits.clear()
    const { config, services: { log } } = this
    for (const line of banner(config, { port: config.gateway.port, apiPort: config.api.port })) console.log(line)
    if (needsStore(config)) reportInMemory(config, log)
    for (const { text, todo } of settingWarnings(config)) log.warn(`${text}: ${todo}`)
    if (config.production && !this.#keepsSockets && config.gateway.workers > 1)
      log.warn(
        'workers share one socket, from which few new connections a second are not taken evenly: Node.js 22.12 on Linux does better'
      )
  }

  /** All of them wait for the same. @param {string} message */
  #onWaits (message) {
    if (!this.#waits.has(message)) console.error(`inkcast: ${message}`)
    this.#waits.add(message)
  }

  /** @param {NodeJS.Signals} signal the second one ends everything at once */
  async #onStopSignal (signal) {
    if (this.state === 'stopping') {
      this.places.kill()
      await this.lifecycle.stop()
      process.exit(1)
    }
    this.services.log.info({ reason: signal }, 'stopping')
    await this.#stop(0)
  }

  /** @param {number} exitCode */
  async #stop (exitCode) {
    if (this.state === 'stopping') return
    this.state = 'stopping'
    this.status.stopping()
    const inTime = await this.places.stop()
    await this.lifecycle.stop()
    exitAfterLog(this.services.log, inTime ? exitCode : 1)
  }
}
