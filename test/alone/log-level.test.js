import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

const TOKEN = 'a-token-for-ADMIN_PORT'
const NAMES = ['launcher', 'api-0', 'gateway-0', 'gateway-1', 'gateway-2', 'gateway-3']

test('the log level of 4 workers changes for all, for one, by a signal, and for later ones', async (t) => {
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
  /**
   * A process that pauses for a moment is shown without its level.
   * @param {object[]} expected
   * @param {number} [timeout]
   */
  const have = (expected, timeout) => waitFor(async () => isDeepStrictEqual(await levels(), expected), {
    timeout, message: () => JSON.stringify(expected)
  })

  /** @param {object} body */
  async function change (body) {
    assert.equal((await ask(body)).status, 200)
  }

  // LOG_LEVEL
  await have(all('warn'))

  for (const [from, to] of [['warn', 'info'], ['info', 'error'], ['error', 'debug'], ['debug', 'warn'], ['warn', 'debug']]) {
    await change({ level: to })
    // the processes themselves say it, in their own lines
    await waitFor(() => NAMES.every((name) => {
      const [role, slot] = name.split('-')
      return cluster.output().includes(`[${role}${slot === undefined ? '' : ` ${slot}`}] the log level was changed {"from":"${from}","to":"${to}"}`)
    }), { message: cluster.output })
  }
  await have(all('debug'))

  await change({ level: 'default' })
  await have(all('warn'))
  await change({ level: 'trace', process: 'gateway-2' })
  await have(all('trace', (name) => name === 'gateway-2'))
  await change({ level: 'default' })

  process.kill(cluster.pid, 'SIGUSR2')
  await have(all('debug'), 1000)
  process.kill(cluster.pid, 'SIGUSR2')
  await have(all('warn'), 1000)

  const worker = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')?.pid ?? NaN
  process.kill(worker, 'SIGUSR2')
  await waitFor(async () => (await levels()).filter((/** @type {any} */ { level }) => level === 'debug').length === 1, { timeout: 1000 })

  await change({ level: 'error' })
  process.kill(worker, 'SIGKILL')
  await waitFor(async () => !(await childrenOf(cluster.pid)).some(({ pid }) => pid === worker))
  await waitFor(cluster.ready, { timeout: 30_000 })
  // a process that is started later has it too
  await have(all('error'))

  assert.equal((await ask({ level: 'debug' }, 'a-wrong-token')).status, 401)
  assert.equal((await ask({ level: 'loud' })).status, 400)
  assert.equal((await ask({ level: 'debug', process: 'gateway-9' })).status, 404)
  // nothing changed
  await have(all('error'))
})
