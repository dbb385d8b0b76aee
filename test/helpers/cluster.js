import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort } from '../services/ports.js'
import { waitFor } from './wait.js'

const COMMAND = fileURLToPath(new URL('../../cluster.js', import.meta.url))

/**
 * A real cluster on this machine, as `npm start` runs it, with topics and group of its own; stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {Record<string, string>} env settings; ports that are not among them are free ones
 * @param {object} [options]
 * @param {number} [options.timeout] ms until it must be ready, default 30,000
 * @param {string} [options.file] what to run, default: the launcher; a role's composition root runs alone
 */
export async function startCluster (t, env, { timeout = 30_000, file = COMMAND } = {}) {
  const [port, apiPort, adminPort] = await Promise.all(['PORT', 'API_PORT', 'ADMIN_PORT'].map((name) => env[name] ?? freePort()))
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'warn', ...env, PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort) },
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
    if (child.exitCode !== null) throw new Error(`the cluster ended with ${child.exitCode}: ${output}`)
    const answer = await fetch(`${adminUrl}/ready`)
    const body = /** @type {any} */ (await answer.json())
    if (answer.status !== 200) throw new Error(`not ready: ${JSON.stringify(body.reasons)}\n${output}`)
    return true
  }
  await waitFor(ready, { timeout, message: 'the cluster to be ready' })

  return {
    url: `${env.TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${port}`,
    port: Number(port),
    adminPort: Number(adminPort),
    apiUrl,
    adminUrl,
    pid: /** @type {number} */ (child.pid),
    exited,
    stop,
    ready,
    output: () => output,
    /** @returns {Promise<string>} the merged metrics */
    metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
    /** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
    async post (path, body, headers = {}) {
      const answer = await fetch(apiUrl + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
      return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
    }
  }
}
