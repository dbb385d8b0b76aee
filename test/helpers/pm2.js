import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from '../services/ports.js'
import { spawnGuarded } from '../services/guard.js'
import { read, wholeMetrics } from './metrics-text.js'
import { postTo } from './post.js'
import { waitFor } from './wait.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PM2 = path.join('node_modules', 'pm2', 'bin', 'pm2')

/**
 * A PM2 of its own with the applications of pm2.config.js. Its daemon and processes end after the test, also when the
 * test is killed.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or a file's scope
 * @param {Record<string, string>} settings
 */
export async function startPm2 (t, settings) {
  const home = await mkdtemp(path.join(tmpdir(), 'inkcast-pm2-'))
  const [port, apiPort, adminPort] = await freePorts(3)
  const env = {
    PATH: process.env.PATH, HOME: home, PM2_HOME: home, PM2_DISCRETE_MODE: 'true', LOG_LEVEL: 'warn', INKCAST_ENV_FILE: '',
    PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort), ...settings
  }
  const guard = spawnGuarded('sleep', ['1000000'], { cwd: ROOT, env, directory: home, cleanup: `node ${PM2} kill` })

  /** @param {...string} args of the pm2 command @returns {Promise<string>} what it printed */
  const pm2 = async (...args) =>
    (await promisify(execFile)(process.execPath, [PM2, ...args], { cwd: ROOT, env })).stdout
  /** @returns {Promise<{ name: string, pid: number, pm2_env: any }[]>} */
  const list = async () => JSON.parse(await pm2('jlist'))
  /** @returns {Promise<string>} the logs of all processes and of the daemon */
  async function logs () {
    const files = [
      path.join(home, 'pm2.log'),
      ...(await readdir(path.join(home, 'logs'))).map((file) => path.join(home, 'logs', file))
    ]
    return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('')
  }

  let stopped = false
  async function stop () {
    if (stopped) return
    stopped = true
    await pm2('kill').catch(() => {})
    await guard.stop()
    await rm(home, { recursive: true, force: true })
  }
  t.after(stop)

  const adminUrl = `http://127.0.0.1:${adminPort}`
  const status = async () => /** @type {any} */ (await (await read(`${adminUrl}/ready`)).json())
  try {
    await pm2('start', 'pm2.config.js')
    await waitFor(async () => (await status()).ready, { timeout: 30_000, message: 'the processes to be ready' })
  } catch (error) {
    throw new Error(`PM2 did not start inkcast: ${await logs()}`, { cause: error })
  }
  const apiUrl = `http://127.0.0.1:${apiPort}`
  return {
    home,
    url: `http://127.0.0.1:${port}`,
    apiUrl,
    adminUrl,
    pm2,
    list,
    logs,
    stop,
    status,
    /** The merged metrics, in which no process is missing. */
    metrics: () => wholeMetrics(adminUrl),
    /** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
    post: (path, body, headers) => postTo(apiUrl + path, body, headers)
  }
}

/**
 * Runs `pm2 start` with settings that prevent a start.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} settings
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export async function refusedByPm2 (t, settings) {
  const home = await mkdtemp(path.join(tmpdir(), 'inkcast-pm2-'))
  const env = { PATH: process.env.PATH, HOME: home, PM2_HOME: home, PM2_DISCRETE_MODE: 'true', ...settings }
  t.after(async () => {
    await promisify(execFile)(process.execPath, [PM2, 'kill'], { cwd: ROOT, env })
    await rm(home, { recursive: true, force: true })
  })
  const child = spawn(process.execPath, [PM2, 'start', 'pm2.config.js'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
