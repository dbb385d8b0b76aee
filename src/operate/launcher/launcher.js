import cluster from 'node:cluster'
import { rm } from 'node:fs/promises'
import { createLogLevels } from '../admin/log-levels.js'
import { makeRunDirectory, openRunDirectory, storeSocket } from '../admin/run-directory.js'
import { serveAdmin } from '../admin/serve.js'
import { createStatus } from '../admin/status.js'
import { banner } from '../roles/banner.js'
import { needsStore, processesOf } from '../../config/load.js'
import { settingWarnings } from '../../people/workers/setting-warnings.js'
import { createLifecycle } from '../../base/process/lifecycle.js'
import { createLog, exitAfterLog } from '../../base/common/log.js'
import { createLogLevel } from '../../base/common/log-level-control.js'
import { createMetrics } from '../../observe/metrics/metrics.js'
import { createMemoryAtRest } from '../../base/process/memory-at-rest.js'
import { MEMORY_ENV } from '../../base/process/runtime-flags.js'
import { reportInMemory } from '../roles/in-memory.js'
import { startError } from '../../base/process/start-error.js'
import { launcherHost } from './host.js'
import { Places } from './places.js'
import { canReusePort } from './reuse-port.js'

/**
 * Runs the cluster on this machine: one gateway worker per core, ingest (with Kafka), api, and without REDIS_URL the
 * built-in store; restarts dead processes, merges metrics and readiness, passes connections between workers, reloads on
 * SIGHUP, stops in order on SIGTERM.
 *
 * @param {import('../../config/load.js').Config} config
 * @param {object} options
 * @param {string} [options.configFile]
 * @param {import('../../base/common/clock.js').Clock} options.clock
 * @param {import('../../base/common/random.js').Random} options.random
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
  const places = new Places(config, {
    host: launcherHost,
    env,
    keepsSockets,
    events: {
      onChange,
      onWaits,
      onGiveUp (reason) {
        if (!places.stopping) console.error(`inkcast: ${reason}`)
        stop(1)
      }
    },
    log, metrics, clock, random
  })
  const { slots } = places

  function onChange () {
    if (places.stopping || status.notReady().length === 0 || !places.ready) return
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

  /** @param {number} exitCode */
  async function stop (exitCode) {
    if (places.stopping) return
    status.stopping()
    const inTime = await places.stop()
    await lifecycle.stop()
    exitAfterLog(log, inTime ? exitCode : 1)
  }

  /** @param {NodeJS.Signals} signal */
  async function onSignal (signal) {
    if (places.stopping) {
      places.kill()
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
  process.on('SIGHUP', () => { places.reload().catch((error) => log.error({ err: error }, 'reload failed')) })

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
      onMove: (name, seconds) => places.sendAway(name, seconds),
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
      const { startLauncherControl } = await import('../../../packages/demo/control/launcher.js')
      await startLauncherControl({
        config, runDirectory, redisUrls, slots, reload: () => places.reload(), status, lifecycle, log, clock, random
      })
    }
    await places.sockets?.start()
    await lifecycle.start('hang watch', places.hangWatch)
    await lifecycle.start('memory at rest', createMemoryAtRest({ clock }))
  } catch (error) {
    console.error(`inkcast: ${startError(error)}`)
    await lifecycle.stop()
    process.exit(1)
  }
  places.start()
}
