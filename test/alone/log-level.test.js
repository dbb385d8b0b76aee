import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

const TOKEN = 'a-token-for-ADMIN_PORT'
const NAMES = ['launcher', 'api-0', 'gateway-0', 'gateway-1', 'gateway-2', 'gateway-3']

test('the log level of 4 workers changes within a second, for all, for one, by a signal, and for later ones', async (t) => {
  const cluster = await startCluster(t, { WORKERS: '4', REDIS_URL: redisUrl(), ADMIN_TOKEN: TOKEN })

  /** @param {object} [body] changes @param {string} [token] */
  async function ask (body, token = TOKEN) {
    const answer = await fetch(`${cluster.adminUrl}/loglevel`, {
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) })
    })
    return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
  }
  const levels = async () => (await ask()).body.processes

  /** @param {string} level @param {(name: string) => boolean} [which] */
  const all = (level, which = () => true) => NAMES.map((name) => ({ name, level: which(name) ? level : 'warn' }))

  assert.deepEqual(await levels(), all('warn'), 'LOG_LEVEL')

  const begun = performance.now()
  assert.equal((await ask({ level: 'debug' })).status, 200)
  // the processes themselves say it, in their own lines
  await waitFor(() => NAMES.every((name) => {
    const [role, slot] = name.split('-')
    return cluster.output().includes(`[${role}${slot === undefined ? '' : ` ${slot}`}] the log level was changed`)
  }), { message: cluster.output })
  const took = performance.now() - begun
  t.diagnostic(`4 workers, api and launcher: ${took.toFixed(0)} ms`)
  assert.ok(took < 1000, `${took} ms`)
  assert.deepEqual(await levels(), all('debug'))

  assert.deepEqual((await ask({ level: 'default' })).body.processes, all('warn'))
  assert.deepEqual((await ask({ level: 'trace', process: 'gateway-2' })).body.processes, [{ name: 'gateway-2', level: 'trace' }])
  assert.deepEqual(await levels(), all('trace', (name) => name === 'gateway-2'))
  await ask({ level: 'default' })

  process.kill(cluster.pid, 'SIGUSR2')
  await waitFor(async () => JSON.stringify(await levels()) === JSON.stringify(all('debug')), { timeout: 1000 })
  process.kill(cluster.pid, 'SIGUSR2')
  await waitFor(async () => JSON.stringify(await levels()) === JSON.stringify(all('warn')), { timeout: 1000 })

  const worker = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')?.pid ?? NaN
  process.kill(worker, 'SIGUSR2')
  await waitFor(async () => (await levels()).filter((/** @type {any} */ { level }) => level === 'debug').length === 1, { timeout: 1000 })

  await ask({ level: 'error' })
  process.kill(worker, 'SIGKILL')
  await waitFor(async () => !(await childrenOf(cluster.pid)).some(({ pid }) => pid === worker))
  await waitFor(cluster.ready, { timeout: 30_000 })
  assert.deepEqual(await levels(), all('error'), 'a process that is started later has it too')

  assert.equal((await ask({ level: 'debug' }, 'a-wrong-token')).status, 401)
  assert.equal((await ask({ level: 'loud' })).status, 400)
  assert.equal((await ask({ level: 'debug', process: 'gateway-9' })).status, 404)
  assert.deepEqual(await levels(), all('error'), 'nothing changed')
})
