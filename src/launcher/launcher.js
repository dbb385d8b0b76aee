import cluster from 'node:cluster'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createLogLevels } from '../admin/log-levels.js'
import { makeRunDirectory, openRunDirectory, storeSocket } from '../admin/run-directory.js'
import { serveAdmin } from '../admin/serve.js'
import { createStatus } from '../admin/status.js'
import { banner } from '../process/banner.js'
import { needsStore, processesOf } from '../config/load.js'
import { settingWarnings } from '../workers/setting-warnings.js'
import { createHangWatch } from '../process/hang-watch.js'
import { createLifecycle } from '../process/lifecycle.js'
import { within } from '../common/wait.js'
import { createLog, exitAfterLog } from '../common/log.js'
import { createLogLevel } from '../common/log-level-control.js'
import { createMetrics } from '../metrics/metrics.js'
import { createMemoryAtRest } from '../process/memory-at-rest.js'
import { GATEWAY_FLAGS, MEMORY_ENV } from '../process/runtime-flags.js'
import { reportInMemory } from '../process/in-memory.js'
import { startError } from '../process/start-error.js'
import { chooseAccepting } from './accepting.js'
import { moveClients } from './paced-move.js'
import { canReusePort } from './reuse-port.js'
import { Slot } from './slot.js'
import { createSlotSockets } from './slot-sockets.js'

/** Maximum time for a new process to become ready during a reload, ms. */
const READY_TIMEOUT = 30_000
/** Processes are killed this long after DRAIN_TIMEOUT, ms. */
const KILL_AFTER = 3000
/** Ingest and api stop first, so that their accepted records still reach the workers. */
const STOP_ORDER = ['ingest', 'api', 'gateway', 'store']
/** Maximum share of DRAIN_TIMEOUT that each step of the stop waits for the previous one. */
const STOP_SHARE = 0.2

/** @typedef {import('./child.js').Child} Child */

/**
 * Runs the cluster on this machine: one gateway worker per core, ingest (with Kafka), api, and without REDIS_URL the
 * built-in store; restarts dead processes, merges metrics and readiness, passes connections between workers, reloads on
 * SIGHUP, stops in order on SIGTERM.
 *
 * @param {import('../config/load.js').Config} config
 * @param {object} options
 * @param {string} [options.configFile]
 * @param {import('../common/clock.js').Clock} options.clock
 * @param {import('../common/random.js').Random} options.random
 */
export async function launch (config, { configFile, clock, random }) {
  const metrics = createMetrics({ role: 'launcher' })
  const usual = config.admin.logLevel
  const log = createLog({
    level: usual,
    pretty: !config.production,
    role: 'launcher',
    onDrop: (reason, lines) => metrics.log_lines_dropped.inc({ reason }, lines),
    clock
  })
  const logLevel = createLogLevel({ log, usual })
  const status = createStatus({ name: 'launcher', metrics })
  const lifecycle = createLifecycle({ log })
  const runDirectory = await makeRunDirectory()
  lifecycle.onStop('run directory', () => rm(runDirectory, { recursive: true, force: true }))
  /** Messages of processes that wait at their start; until all are ready. @type {Set<string>} */
  const waits = new Set()
  let stopping = false
  let reloading = false
  let reloadAgain = false
  /** During a reload: the gateway worker that was started last. @type {import('./child.js').Child | undefined} */
  let newest

  // Processes accept connections themselves: passing each one through the launcher costs a handshake almost twice.
  cluster.schedulingPolicy = cluster.SCHED_NONE

  const keepsSockets = canReusePort()
  const expected = processesOf(config)
  const redisUrls = needsStore(config) ? [`unix://${storeSocket(runDirectory)}`] : config.redis.urls
  /** @type {Record<string, string | undefined>} */
  const env = {
    ...MEMORY_ENV,
    ...process.env,
    INKCAST_RUN_DIRECTORY: runDirectory,
    INKCAST_CONFIG_FILE: configFile,
    INKCAST_SOCKETS: keepsSockets ? '1' : undefined,
    ...(needsStore(config) && { REDIS_URL: redisUrls[0] })
  }
  const slots = Object.entries(expected).flatMap(([role, count]) => Array.from({ length: count }, (_, number) => {
    /** @type {Slot} */
    const slot = new Slot({
      role,
      slot: number,
      file: fileURLToPath(new URL(`../${role}.js`, import.meta.url)),
      // these listen, and while they are replaced old and new share the port
      clustered: role === 'api' || (role === 'gateway' && !keepsSockets),
      env,
      execArgv: [...(role === 'gateway' ? GATEWAY_FLAGS : []), ...process.execArgv],
      stopTimeout: config.gateway.drainTimeout + KILL_AFTER
    }, {
      onChange,
      onWaits,
      onListen: (child) => sockets?.give(child),
      onHandover,
      onReplaced (child) { if (role === 'gateway') newest = child },
      onRetire: async (old, child) => { if (role === 'gateway') await moveAway(old, child) },
      onAnswer: (child, inspected) => hangWatch.answered(/** @type {any} */ (child), inspected),
      onRestart ({ code, signal, message }) {
        metrics.worker_restarts.inc({ role })
        log.warn({ process: slot.name, code, signal }, message ?? 'process ended unexpectedly, starting it again')
      },
      onGiveUp (reason) {
        if (!stopping) console.error(`inkcast: ${slot.name}: ${reason}`)
        stop(1)
      }
    }, { clock, random })
    return slot
  }))
  const sockets = keepsSockets
    ? createSlotSockets({ ...config.gateway, slots: slots.filter((slot) => slot.settings.role === 'gateway') })
    : undefined

  const hangWatch = createHangWatch({
    // a process that is starting or stopping has a timeout of its own
    processes: () => /** @type {any[]} */ (slots.map(({ current }) => current).filter((child) =>
      child !== undefined && child.ready && child.answers && !child.stopping && !child.exited)),
    isReady: (name) => slots.find((slot) => slot.name === name)?.ready ?? true,
    onChange,
    metrics,
    log,
    clock
  })

  /** @param {Child} old @param {Child} child its successor in a reload */
  async function moveAway (old, child) {
    old.accept(false)
    const begun = clock.monotonic()
    const clients = await moveClients({ from: old, to: child, stopped: () => stopping, clock })
    const ms = Math.round(clock.monotonic() - begun)
    if (clients > 0) log.info({ process: old.name, clients, ms }, 'clients moved to its successor')
  }

  /** @param {string} name of a worker whose clients are being moved @param {number} seconds */
  function sendAway (name, seconds) {
    const child = slots.find((slot) => slot.name === name)?.serving
    if (child === undefined) return
    child.moves++
    clock.timer(seconds * 1000, () => {
      child.moves--
      onChange()
    }).unref()
    onChange()
  }

  function onChange () {
    chooseAccepting(
      slots.flatMap(({ settings: { role }, serving }) => role === 'gateway' && serving ? [serving] : []),
      newest
    )
    sockets?.cover()
    if (stopping || status.notReady().length === 0 || !slots.every((slot) => slot.ready)) return
    status.started()
    waits.clear()
    for (const line of banner(config, { port: config.gateway.port, apiPort: config.api.port })) console.log(line)
    warn()
  }

  function warn () {
    if (needsStore(config)) reportInMemory(config, log)
    for (const { text, todo } of settingWarnings(config)) log.warn(`${text}: ${todo}`)
    if (config.production && !keepsSockets && config.gateway.workers > 1)
      log.warn(
        'workers share one socket, from which few new connections a second are not taken evenly: Node.js 22.12 on Linux does better'
      )
  }

  /** All of them wait for the same. @param {string} message */
  function onWaits (message) {
    if (!waits.has(message)) console.error(`inkcast: ${message}`)
    waits.add(message)
  }

  /** @param {{ to: number }} message @param {any} handle a connection that belongs to worker number `to` */
  function onHandover (message, handle) {
    if (!handle) return
    // a process that has just given its number back may still be there
    const owner = slots
      .flatMap((slot) => slot.children)
      .filter((child) => child.workerNumber === message.to && !child.exited)
      .sort((a, b) => b.startedAt - a.startedAt)[0]
    // the client's connection is closed, and it reconnects
    if (owner === undefined) handle.close()
    else owner.handOver(message, handle)
  }

  /** @returns {Promise<string | null>} why not all processes were replaced */
  async function reload () {
    if (stopping) return 'everything is stopping'
    reloadAgain = reloading
    if (reloading) return 'a reload is in progress; another one follows it'
    let problem
    reloading = true
    do {
      reloadAgain = false
      problem = await reloadOnce()
      acceptAll()
    } while (reloadAgain && !stopping)
    reloading = false
    return problem
  }

  function acceptAll () {
    newest = undefined
    onChange()
  }

  /** @returns {Promise<string | null>} why not all processes were replaced */
  async function reloadOnce () {
    log.info('reloading, one process at a time')
    const lastGateway = slots.findLast((slot) => slot.settings.role === 'gateway')
    // the data of the store ends with its process
    for (const slot of slots.filter(({ settings }) => settings.role !== 'store')) {
      const problem = await slot.reload(READY_TIMEOUT)
      if (slot === lastGateway) acceptAll()
      if (stopping) return 'everything is stopping'
      if (problem !== null) {
        log.error(
          { process: slot.name },
          `not reloaded: ${problem}; the reload ends here, and what has not been replaced serves as before`
        )
        return `${slot.name}: ${problem}`
      }
    }
    log.info('reload finished')
    return null
  }

  /** @param {number} exitCode */
  async function stop (exitCode) {
    if (stopping) return
    stopping = true
    status.stopping()
    sockets?.stop()
    // a signal to the whole process group has reached them as well
    for (const slot of slots) slot.expectEnd()
    const timer = clock.timer(config.gateway.drainTimeout + KILL_AFTER, () => {
      log.error('processes did not stop in time, killing them')
      exitCode = 1
      for (const slot of slots) slot.kill()
    })
    const stops = []
    for (const role of STOP_ORDER) {
      const stopped = Promise.all(slots.filter((slot) => slot.settings.role === role).map((slot) => slot.stop()))
      stops.push(stopped)
      await within(stopped, config.gateway.drainTimeout * STOP_SHARE, undefined, clock)
    }
    await Promise.all(stops)
    timer.stop()
    await lifecycle.stop()
    exitAfterLog(log, exitCode)
  }

  /** @param {NodeJS.Signals} signal */
  async function onSignal (signal) {
    if (stopping) {
      for (const slot of slots) slot.kill()
      await lifecycle.stop()
      process.exit(1)
    }
    log.info({ reason: signal }, 'stopping')
    await stop(0)
  }
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
    process.on(signal, () => {
      onSignal(signal).catch((error) => {
        log.error({ err: error }, 'stop failed')
        process.exit(1)
      })
    })
  }
  const logLevels = createLogLevels({
    directory: runDirectory,
    own: { name: 'launcher', control: logLevel },
    // processes that are started later
    onAll (level) { env.INKCAST_LOG_LEVEL = level === 'default' ? undefined : level }
  })
  process.on('SIGUSR2', () => {
    logLevels.set(logLevel.toggled).catch((error) => log.error({ err: error }, 'the log level could not be changed'))
  })
  process.on('SIGHUP', () => { reload().catch((error) => log.error({ err: error }, 'reload failed')) })

  try {
    await serveAdmin({
      config,
      directory: runDirectory,
      expected,
      own: () => status.read(),
      isHung: (pid) => slots.some(({ current }) => current?.hung && current.pid === pid),
      logLevels,
      // processes that are started later
      onCordon (cordoned) { env.INKCAST_CORDONED = cordoned ? '1' : undefined },
      onMove: sendAway,
      lifecycle,
      status,
      metrics,
      log,
      clock
    })
    // before the first socket in it: its path may be too long for one
    await openRunDirectory(runDirectory)
    // development only
    if (!config.production) {
      const { startLauncherControl } = await import('../demo/control/launcher.js')
      await startLauncherControl({
        config, runDirectory, redisUrls, slots, reload, status, lifecycle, log, clock, random
      })
    }
    await sockets?.start()
    await lifecycle.start('hang watch', hangWatch)
    await lifecycle.start('memory at rest', createMemoryAtRest({ clock }))
  } catch (error) {
    console.error(`inkcast: ${startError(error)}`)
    await lifecycle.stop()
    process.exit(1)
  }
  const store = slots.find((slot) => slot.settings.role === 'store')
  const startOthers = () => { if (!stopping) for (const slot of slots) if (slot !== store) slot.start() }
  if (store === undefined) return startOthers()
  // first, so that the others find it
  store.start()
  store.current?.once('ready', startOthers)
}
