import cluster from 'node:cluster'
import inspector from 'node:inspector'
import { rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { createPrivateListener } from '../admin/private-listener.js'
import { describeProcess } from '../admin/figures/describe.js'
import { leaveRunDirectory, makeRunDirectory, openRunDirectory, privateSocket } from '../admin/run-directory.js'
import { createStatus } from '../admin/status.js'
import { systemClock } from '../../base/common/clock.js'
import { checkLibraries } from '../../config/library-versions.js'
import { checkFiles } from '../../config/files.js'
import { ConfigError, launcherContext, loadConfig } from '../../config/load.js'
import { extensionRunning } from '../../gateway/extensions/guard.js'
import { createEventLoopMonitor } from '../../observe/metrics/event-loop.js'
import { systemHost } from '../../base/process/host.js'
import { createLifecycle } from '../../base/process/lifecycle.js'
import { createLog, exitAfterLog } from '../../base/common/log.js'
import { createLogLevel } from '../../base/common/log-level-control.js'
import { systemRandom } from '../../base/common/random.js'
import { createMetrics } from '../../observe/metrics/metrics.js'
import { createMemoryAtRest, REST } from '../../base/process/memory-at-rest.js'
import { startError } from '../../base/process/start-error.js'
import { Tracing } from '../../observe/tracing/tracing.js'

/** After this time outages are only logged, not printed as the reason for the delay of the start, s. */
const START_TIME = 60

/**
 * The context that every role's composition root receives.
 * @typedef {object} RoleContext
 * @property {string} name of the process, in reports
 * @property {import('../../config/load.js').Config} config
 * @property {import('../../config/load.js').LauncherContext} launcher
 * @property {import('../../base/common/clock.js').Clock} clock that of the whole process
 * @property {import('../../base/common/random.js').Random} random that of the whole process
 * @property {import('../../base/process/host.js').Host} host
 * @property {string} privatePath unix socket of this process's private listener
 * @property {import('../../base/common/log.js').Log} log
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 * @property {ReturnType<typeof createLifecycle>} lifecycle
 * @property {ReturnType<typeof createStatus>} status
 * @property {(message: string) => void} onWaits reports, at any log level, what the start waits for
 * @property {import('../../watch/inspect/parts.js').PrivateRoutes} privateRoutes
 * @property {boolean} inspects whether the process has an inspector
 * @property {() => Promise<import('../../watch/overview/contract.js').ProcessReport>} describe this process, for the
 *   overview
 * @property {() => Promise<import('../../kafka/contract.js').KafkaDriver>} createKafka opens no connection yet
 * @property {boolean} rehearses whether a gateway makes handshakes with itself before it is ready
 * @property {() => Promise<void>} listenPrivately opens the private listener; it is closed after the parts that start
 *   later have stopped. Default: opened last
 */

/**
 * @typedef {object} Composed
 * @property {number} [workerNumber] of a gateway worker
 * @property {() => number} [connections] of a gateway worker
 * @property {string[]} [banner] lines printed when a person has started this process by hand
 */

/**
 * Runs one role as this process: settings, log, metrics, signals, and an ordered stop. Without a launcher it serves
 * ADMIN_PORT itself; otherwise the launcher does.
 *
 * @param {string} role
 * @param {(context: RoleContext) => Promise<Composed | void>} compose starts the role's parts through `lifecycle`
 * @param {object} [options]
 * @param {string} [options.configFile] default: `--config`, or the launcher's
 * @param {import('../../base/common/clock.js').Clock} [options.clock]
 * @param {import('../../base/common/random.js').Random} [options.random]
 */
export async function runRole (role, compose, { configFile, clock = systemClock, random = systemRandom } = {}) {
  const launcher = launcherContext()
  const config = await readConfig(role, configFile ?? launcher.configFile ?? configArgument(), launcher)
  const { slot } = launcher
  const metrics = createMetrics({ role })
  const usual = config.admin.logLevel
  const log = createLog({
    level: launcher.logLevel ?? usual,
    pretty: !config.production,
    role,
    slot,
    onDrop: (reason, lines) => metrics.log_lines_dropped.inc({ reason }, lines),
    clock
  })
  const logLevel = createLogLevel({ log, usual })
  process.on('SIGUSR2', () => logLevel.set(logLevel.toggled))
  const lifecycle = createLifecycle({ log })
  const tracing = new Tracing({ metrics, log, clock })
  tracing.start()
  lifecycle.onStop('traces', () => tracing.stop())
  const name = `${role}-${slot}`
  const status = createStatus({ name, metrics })
  status.cordon(launcher.cordoned)
  /** @type {Composed} */
  let composed = {}
  handleSignals({ config, launcher, clock, log, lifecycle, status, connections: () => composed.connections?.() })
  // the launcher has gone while the modules of this process were loaded: the event came too early
  if (launcher.relaysHandles && !process.connected) return void process.emit('disconnect')

  try {
    checkLibraries(config)
    const directory = launcher.runDirectory ?? await privateDirectory(lifecycle)
    await openRunDirectory(directory)
    const privatePath = privateSocket(directory, role, slot)
    await lifecycle.start('event loop monitor', createEventLoopMonitor({ metrics, log, clock }))
    const onWaits = createWaits(launcher)
    let listening = false
    /** @type {RoleContext['privateRoutes']} */
    const privateRoutes = new Map()
    const listenPrivately = async () => {
      if (!listening)
        await lifecycle.start(
          'private listener', createPrivateListener({
            path: privatePath, status, logLevel, routes: privateRoutes, log, clock
          })
        )
      listening = true
    }
    composed =
      (await compose({
        name, config, launcher, clock, random, host: systemHost, privatePath, privateRoutes, log, metrics, lifecycle,
        status,
        describe: () => describeProcess(status, systemHost.name),
        inspects: true,
        onWaits,
        createKafka: async () => (await import('../../kafka/kafkajs/driver.js')).createKafkajs({
          settings: config.kafka, log, clock, name: role, metrics, onWaits
        }),
        rehearses: config.production,
        listenPrivately
      })) ?? {}
    await listenPrivately()
    if (launcher.servesAdmin) {
      const { serveMachine } = await import('./machine.js')
      await serveMachine({ log, metrics, clock }, { role, config, launcher, directory, lifecycle, status })
    }
    const { workerNumber, banner = [] } = composed
    await lifecycle.start('memory at rest', createMemoryAtRest({
      clock, rest: composed.connections === undefined ? REST.without : REST.withClients
    }))
    status.started()
    announce(workerNumber)
    if (launcher.runDirectory === undefined) for (const line of banner) console.log(line)
    log.info('ready')
  } catch (error) {
    // parts that are stopped while they start fail; the stop ends the process when it has cleaned up
    if (lifecycle.isStopping) return
    const message = startError(error)
    log.debug({ err: error }, 'start failed')
    await tellFailure(message, launcher)
    status.stopping()
    await lifecycle.stop()
    process.exit(1)
  }
}

/**
 * Reports to the parent process that this one is ready: the launcher, or PM2, which expects the message `ready`.
 * @param {number | undefined} workerNumber
 */
function announce (workerNumber) {
  tell({ type: 'ready', workerNumber, answers: true })
  tell('ready')
}

/**
 * @param {unknown} message to the parent process
 * @returns {Promise<void>} resolves when the message is sent
 */
async function tell (message) {
  // the end of the parent is detected elsewhere
  if (process.connected)
    await new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve(undefined)))
}

/**
 * @param {string} message reason why this process does not start
 * @param {import('../../config/load.js').LauncherContext} launcher
 */
async function tellFailure (message, launcher) {
  if (launcher.relaysHandles) await tell({ type: 'failed', message })
  else console.error(`inkcast: ${message}`)
}

/**
 * @param {import('../../config/load.js').LauncherContext} launcher
 * @returns {(message: string) => void}
 */
function createWaits (launcher) {
  const told = new Set()
  return (message) => {
    // eslint-disable-next-line no-restricted-syntax -- of the process, which began before its clock
    if (told.has(message) || process.uptime() > START_TIME) return
    told.add(message)
    if (launcher.relaysHandles) tell({ type: 'waits', message })
    else console.error(`inkcast: ${message}`)
  }
}

/**
 * @param {string} role
 * @param {string | undefined} file
 * @param {import('../../config/load.js').LauncherContext} launcher
 */
async function readConfig (role, file, launcher) {
  try {
    const config = loadConfig({ file, envFile: launcher.envFile })
    // the process would write where none of this machine reads
    if (launcher.mode !== undefined && config.mode !== launcher.mode)
      throw new ConfigError([
        `KAFKA_BROKERS or REDIS_URL changes the mode from ${launcher.mode} to ${config.mode}: restart the launcher, a reload cannot do it`
      ])
    if (role === 'embedded') checkFiles(config)
    else if (role === 'gateway' || role === 'api') checkFiles(config, role)
    return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    await tellFailure(error.message, launcher)
    process.exit(1)
  }
}

/** @returns {string | undefined} */
function configArgument () {
  return parseArgs({ options: { config: { type: 'string' } }, strict: false }).values.config?.toString()
}

/** @param {ReturnType<typeof createLifecycle>} lifecycle */
async function privateDirectory (lifecycle) {
  const directory = await makeRunDirectory()
  lifecycle.onStop('run directory', () => rm(directory, { recursive: true, force: true }))
  return directory
}

/**
 * SIGTERM, SIGINT and the end of the launcher stop the process in order within DRAIN_TIMEOUT; a second signal stops a
 * process without a launcher at once.
 * @param {Pick<RoleContext, 'config' | 'launcher' | 'clock' | 'log' | 'lifecycle' | 'status'>
 *   & { connections: () => number | undefined }} context
 */
function handleSignals ({ config, launcher, clock, log, lifecycle, status, connections }) {
  let stopping = false

  /** @param {string} reason */
  async function stop (reason) {
    stopping = true
    status.stopping()
    log.info({ reason }, 'stopping')
    const timer = clock.timer(config.gateway.drainTimeout + 1000, () => {
      log.error('did not stop within DRAIN_TIMEOUT')
      process.exit(1)
    }).unref()
    await lifecycle.stop()
    timer.stop() // the log may take longer, if its reader is slow
    // a killed launcher could not remove the directory
    if (launcher.runDirectory !== undefined && !process.connected) await leaveRunDirectory(launcher.runDirectory)
  }

  /** @param {string} reason */
  function stopOnce (reason) {
    if (!stopping) stop(reason).then(() => exitAfterLog(log, 0), () => exitAfterLog(log, 1))
    // a connected parent kills this process if needed; after Ctrl-C it repeats the terminal's signal, so ignore it
    else if (!process.connected) process.exit(1)
  }

  process.on('SIGTERM', () => stopOnce('SIGTERM'))
  // a terminal signals every process of the group, but the launcher decides
  process.on('SIGINT', () => { if (!launcher.relaysHandles) stopOnce('SIGINT') })
  // a closed terminal signals every process too; the launcher treats that as a reload
  if (launcher.relaysHandles) process.on('SIGHUP', () => {})
  // the launcher notices a process that hangs (src/operate/launcher/hang-watch.js)
  if (launcher.relaysHandles)
    process.on('message', (/** @type {any} */ message) => {
      if (message?.type === 'ask')
        tell({ type: 'answer', inspected: inspector.url() !== undefined, connections: connections() })
      else if (message?.type === 'cordon') status.cordon(message.cordoned)
    })
  process.on('disconnect', () => { if (!stopping) stopOnce('the launcher has gone') })
  // node:cluster would otherwise end this process at once on disconnect
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
  process.on('uncaughtException', (error) => {
    const extension = extensionRunning()
    if (extension !== undefined) return extension.failed(error)
    log.fatal({ err: error }, 'uncaught exception')
    process.exit(1)
  })
  // A defect, but no reason to drop the connections of this process.
  process.on('unhandledRejection', (error) => {
    const extension = extensionRunning()
    if (extension !== undefined) extension.failed(error)
    else log.error({ err: error }, 'unhandled rejection')
  })
}
