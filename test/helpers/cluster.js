import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort } from '../services/ports.js'
import { read, wholeMetrics } from './metrics-text.js'
import { postTo } from './post.js'
import { waitFor } from './wait.js'

const COMMAND = fileURLToPath(new URL('../../cluster.js', import.meta.url))

const USUAL = { PORT: 3000, API_PORT: 3001, ADMIN_PORT: 9100 }
const HERE = { command: (/** @type {string[]} */ args) => args, door: async (/** @type {number} */ port) => port }

/**
 * A real cluster on this machine, as `npm start` runs it, with its own topics and consumer group; stopped after the
 * test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {Record<string, string>} env settings; ports default to free ones
 * @param {object} [options]
 * @param {number} [options.timeout] ms until it must be ready, default 60,000
 * @param {string} [options.file] program to run, default: the launcher; the composition root of a role runs alone
 * @param {Pick<import('./hosts.js').Host, 'command' | 'door'>} [options.host] host to run it on, default: this one; on
 *   another host the default ports are used
 */
export async function startCluster (t, env, options = {}) {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(t, env, options)
    } catch (error) {
      // a port was free when it was chosen
      const taken = /port (\d+) is in use/.exec(error instanceof Error ? error.message : '')?.[1]
      if (tries === 3 || taken === undefined || Object.values(env).includes(taken)) throw error
    }
  }
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} env
 * @param {object} options
 * @param {number} [options.timeout]
 * @param {string} [options.file]
 * @param {Pick<import('./hosts.js').Host, 'command' | 'door'>} [options.host]
 */
async function startOnce (t, env, { timeout = 60_000, file = COMMAND, host = HERE }) {
  const ports = await Promise.all(
    Object.entries(USUAL).map(([name, usual]) => env[name] ?? (host === HERE ? freePort() : usual))
  )
  const [port, apiPort, adminPort] = await Promise.all(ports.map((port) => host.door(Number(port))))
  const [program, ...args] = host.command([process.execPath, file])
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      LOG_LEVEL: 'warn',
      // not the .env of the person who runs the tests
      INKCAST_ENV_FILE: '',
      // without Redis one process is enough for most tests
      ...(env.REDIS_URL ? {} : { WORKERS: '1' }),
      ...env,
      PORT: String(ports[0]),
      API_PORT: String(ports[1]),
      ADMIN_PORT: String(ports[2])
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  const keep = (/** @type {Buffer} */ chunk) => { output = (output + chunk).slice(-20_000) }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  /** @type {Promise<{ code: number | null, signal: string | null }>} */
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))

  async function stop () {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    const result = await exited
    clearTimeout(timer)
    return result
  }
  t.after(stop)

  const adminUrl = `http://127.0.0.1:${adminPort}`
  const apiUrl = `http://127.0.0.1:${apiPort}`
  const ready = async () => {
    const answer = await read(`${adminUrl}/ready`)
    const body = /** @type {any} */ (await answer.json())
    if (answer.status !== 200) throw new Error(`not ready: ${JSON.stringify(body.reasons)}\n${output}`)
    return true
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  await waitFor(() => hasEnded() || ready(), { timeout, message: 'the cluster to be ready' })
  if (hasEnded()) throw new Error(`the cluster ended with ${child.exitCode ?? child.signalCode}: ${output}`)

  return {
    url: `${env.TLS_FILES ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    adminPort,
    apiUrl,
    adminUrl,
    pid: /** @type {number} */ (child.pid),
    exited,
    stop,
    ready,
    output: () => output,
    /** The merged metrics, in which no process is missing. */
    metrics: () => wholeMetrics(adminUrl),
    /** @returns {Promise<string>} the merged metrics of the processes that answer */
    metricsNow: async () => (await read(`${adminUrl}/metrics`)).text(),
    /** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
    post: (path, body, headers) => postTo(apiUrl + path, body, headers)
  }
}
