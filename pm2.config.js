/**
 * inkcast under PM2: `npx pm2 start pm2.config.js`, and `npx pm2 reload pm2.config.js` to replace every process without
 * refusing a connection. The same roles as cluster.js starts: one gateway worker per core (or WORKERS), api, and
 * ingest where KAFKA_BROKERS is set. docs/operations/run.md says what differs.
 *
 * Settings come from the shell's environment, then from `.env` in the shell's folder, or from the file that
 * INKCAST_CONFIG_FILE names.
 */
import { homedir } from 'node:os'
import path from 'node:path'
import { InkcastError } from './src/base/common/errors.js'
import { checkLibraries } from './src/config/library-versions.js'
import { ConfigError, launcherContext, loadConfig, processesOf } from './src/config/load.js'
import { GATEWAY_FLAGS, MEMORY_ENV } from './src/base/process/runtime-flags.js'

/** Maximum time until a process is ready, ms; then PM2 considers it ready and stops the one that it replaces. */
const READY_TIMEOUT = 60_000
/** Added to DRAIN_TIMEOUT before PM2 kills, ms: a process exits by itself 1 s after DRAIN_TIMEOUT, unless it hangs. */
const KILL_AFTER = 3000

/**
 * PM2 reports any error in this file as "malformated" and prints it; exiting instead would leave its reload lock
 * behind.
 * @param {string} message
 * @returns {never}
 */
function fail (message) {
  throw Object.assign(new Error(message), { stack: `inkcast: ${message}` })
}

const { configFile: file, envFile } = launcherContext()

function readConfig () {
  try {
    const config = loadConfig({ file, envFile })
    checkLibraries(config)
    return config
  } catch (error) {
    if (error instanceof ConfigError || error instanceof InkcastError) return fail(error.message)
    throw error
  }
}

const config = readConfig()
if (config.redis.urls.length === 0)
  fail(
    'PM2 runs a cluster, and a cluster needs Redis: set REDIS_URL, or run "npm start", which has a store for development'
  )

// next to PM2's own sockets: it belongs to this user, and its path is short enough for a socket
const runDirectory = path.join(process.env.PM2_HOME ?? path.join(homedir(), '.pm2'), 'inkcast')
const { gateway, ingest, api } = processesOf(config)

/**
 * @param {string} role
 * @param {number} instances
 * @param {object} options
 */
const application = (role, instances, options) => ({
  name: `inkcast-${role}`,
  script: `src/${role}.js`,
  cwd: import.meta.dirname,
  instances,
  node_args: role === 'gateway' ? GATEWAY_FLAGS : [],
  wait_ready: true,
  listen_timeout: READY_TIMEOUT,
  kill_timeout: config.gateway.drainTimeout + KILL_AFTER,
  exp_backoff_restart_delay: 100,
  env: {
    ...MEMORY_ENV,
    INKCAST_RUN_DIRECTORY: runDirectory,
    INKCAST_ADMIN: role === 'api' ? '1' : '0',
    // PM2 starts processes in this folder, not in the one of the shell
    INKCAST_ENV_FILE: envFile && path.resolve(envFile)
  },
  ...options
})

export const apps = [
  // these listen; during a replacement the old and the new process share the port
  application('gateway', gateway, { exec_mode: 'cluster' }),
  application('api', api, { exec_mode: 'cluster' }),
  ...(ingest > 0 ? [application('ingest', ingest, { exec_mode: 'fork' })] : [])
]
