import cluster from 'node:cluster'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readStatus } from '../admin/private-listener.js'
import { createAdminServer } from '../admin/server.js'
import { createStatus } from '../admin/status.js'
import { banner } from '../banner.js'
import { createLifecycle } from '../lifecycle.js'
import { createLog } from '../log.js'
import { createMetrics } from '../metrics.js'
import { startError } from '../role.js'
import { Child } from './child.js'

/** How long a process may take to answer for its status, ms. */
const STATUS_TIMEOUT = 2000

/**
 * Runs the cluster on this machine: one gateway worker per core, ingest (with Kafka) and api; restarts what dies,
 * merges metrics and readiness, and stops everything in order.
 *
 * @param {import('../config/load.js').Config} config
 * @param {{ configFile?: string }} options
 */
export async function launch (config, { configFile }) {
  const log = createLog({ level: config.admin.logLevel, pretty: !config.production, role: 'launcher' })
  const metrics = createMetrics({ role: 'launcher' })
  const status = createStatus({ name: 'launcher', metrics })
  const lifecycle = createLifecycle({ log })
  const runDirectory = await mkdtemp(path.join(tmpdir(), 'inkcast-'))
  lifecycle.onStop('run directory', () => rm(runDirectory, { recursive: true, force: true }))
  let stopping = false

  // Workers accept connections themselves: passing each one through the launcher costs a handshake almost twice.
  cluster.schedulingPolicy = cluster.SCHED_NONE

  const env = { ...process.env, INKCAST_RUN_DIRECTORY: runDirectory, INKCAST_CONFIG_FILE: configFile }
  const children = roles(config).map(({ role, slot }) => new Child({
    role,
    slot,
    file: fileURLToPath(new URL(`../${role}.js`, import.meta.url)),
    clustered: role === 'gateway',
    env,
    execArgv: process.execArgv
  }, { onReady, onExit: (detail) => onExit(role, slot, detail) }))

  function onReady () {
    if (stopping || !children.every((child) => child.ready) || status.notReady().length === 0) return
    status.started()
    for (const line of banner(config, { port: config.gateway.port, apiPort: config.api.port })) console.log(line)
  }

  /** @param {string} role @param {number} slot @param {{ code: number | null, signal: string | null, message: string | undefined, again: boolean }} detail */
  function onExit (role, slot, { code, signal, message, again }) {
    if (stopping) return
    metrics.worker_restarts.inc({ role })
    if (again) {
      log.warn({ role, slot, code, signal }, message ?? 'process ended unexpectedly, starting it again')
      return
    }
    console.error(`inkcast: ${role}-${slot}: ${message ?? `ended again and again (${signal ?? `exit code ${code}`})`}`)
    stop(1)
  }

  /** @param {number} exitCode */
  async function stop (exitCode) {
    if (stopping) return
    stopping = true
    status.stopping()
    const timer = setTimeout(() => {
      log.error('processes did not stop in time, killing them')
      for (const child of children) child.kill('SIGKILL')
    }, config.gateway.drainTimeout + 3000)
    // ingest first: what it has taken from Kafka still reaches the workers
    for (const role of ['ingest', 'api', 'gateway']) {
      await Promise.all(children.filter((child) => child.settings.role === role).map((child) => child.stop('SIGTERM')))
    }
    clearTimeout(timer)
    await lifecycle.stop()
    process.exit(exitCode)
  }

  /** @param {NodeJS.Signals} signal */
  function onSignal (signal) {
    if (stopping) {
      for (const child of children) child.kill('SIGKILL')
      process.exit(1)
    }
    log.info({ reason: signal }, 'stopping')
    stop(0).catch((error) => {
      log.error({ err: error }, 'stop failed')
      process.exit(1)
    })
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)

  const readAll = () => Promise.all([
    status.read(),
    ...children.map((child) => readStatus(path.join(runDirectory, `${child.name}.sock`), STATUS_TIMEOUT)
      .catch(() => ({ name: child.name, notReady: ['does not answer'], metrics: /** @type {[]} */ ([]) })))
  ])
  try {
    await lifecycle.start('admin server', createAdminServer({ settings: config.admin, log, readAll }))
  } catch (error) {
    console.error(`inkcast: ${startError(error)}`)
    await lifecycle.stop()
    process.exit(1)
  }
  for (const child of children) child.start()
}

/** @param {import('../config/load.js').Config} config @returns {{ role: 'gateway' | 'ingest' | 'api', slot: number }[]} */
function roles ({ gateway, mode }) {
  return [
    ...Array.from({ length: gateway.workers }, (_, slot) => ({ role: /** @type {const} */ ('gateway'), slot })),
    ...(mode === 'kafka' ? [{ role: /** @type {const} */ ('ingest'), slot: 0 }] : []),
    { role: 'api', slot: 0 }
  ]
}
