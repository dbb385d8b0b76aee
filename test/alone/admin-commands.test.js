import assert from 'node:assert/strict'
import net from 'node:net'
import { before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const REDIS_URL = await ownRedisUrl(fileScope())

const ADMIN = 'a-token-for-ADMIN_PORT'
const READER = 'a-token-that-reads-only'
const CLIENTS = 20

/** Commands of an operator to the launcher of one cluster: `/move`, `/cordon` and `/loglevel`. */
describe('commands to a cluster that keeps running', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  let agentPort = 0
  before(async () => {
    agentPort = await freePort()
    cluster = await startCluster(scope, {
      WORKERS: '2', REDIS_URL, ADMIN_TOKEN: ADMIN, ADMIN_READ_TOKEN: READER, AGENT_PORT: String(agentPort)
    })
  }, { timeout: 270_000 })

  /** @param {string} method @param {string} path @param {object} [body] @param {string} [token] */
  async function ask (method, path, body, token = ADMIN) {
    const answer = await fetch(cluster.adminUrl + path, {
      method, headers: { authorization: `Bearer ${token}` }, body: body && JSON.stringify(body)
    })
    return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
  }

  /**
   * While a process pauses for a moment, the answer is 503: tries again.
   * @param {Parameters<typeof ask>} question
   */
  async function askAgain (...question) {
    let answer = await ask(...question)
    await waitFor(async () => answer.status !== 503 || (answer = await ask(...question)).status !== 503, {
      timeout: 20_000, message: () => answer
    })
    return answer
  }

  /** @returns {Promise<number>} a gateway worker */
  const someWorker = async () => (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')?.pid ?? NaN

  test('half of the clients of a machine are moved, and connect again', async (t) => {
    let moved = 0
    const clients = Array.from({ length: CLIENTS }, () => {
      const client = createClient(t, cluster.url, { reconnection: true })
      client.on('disconnect', () => { moved++ })
      return client
    })
    const connected = () => clients.filter((client) => client.connected).length
    await waitFor(() => connected() === CLIENTS, { timeout: 30_000, message: connected })
    assert.equal((await ask('POST', '/move', { share: 0.5, rate: 10 }, READER)).status, 403)
    assert.equal((await ask('POST', '/move', { share: 2, rate: 10 })).status, 400)
    assert.equal((await askAgain('POST', '/move', { share: 0.5, rate: 10, process: 'gateway-7' })).status, 404)
    assert.equal(moved, 0)

    const { status, body } = await askAgain('POST', '/move', { share: 0.5, rate: 10 })
    // 504: a process has begun, but paused before its answer
    const moving = status === 504 ? undefined : Object.values(body.moving)
    if (moving !== undefined) assert.deepEqual(Object.keys(body.moving), ['gateway-0', 'gateway-1'])
    const hasEnded = async () => {
      const { left } = (await askAgain('GET', '/move', undefined, READER)).body
      return moved > 0 && connected() === CLIENTS && isDeepStrictEqual(left, { 'gateway-0': 0, 'gateway-1': 0 })
    }
    await waitFor(hasEnded, { timeout: 20_000, message: () => [moved, connected()] })
    // half of each worker's, rounded up
    assert.ok(moved <= CLIENTS / 2 + 1, `${moved}`)
    if (moving !== undefined) assert.ok(moved >= CLIENTS / 2 && moved === moving[0] + moving[1], `${moved} of ${moving}`)
  })

  test('a cordoned machine gets no new clients, keeps those it has, and takes new ones when it is undone', async (t) => {
    const cordon = async (/** @type {boolean} */ cordoned) => (await askAgain('PUT', '/cordon', { cordoned })).body
    const isCordoned = (/** @type {boolean} */ expected) => waitFor(async () => {
      const { status, body } = await ask('GET', '/cordon', undefined, READER)
      return status === 200 && body.cordoned === expected
    })
    const health = async () => (await fetch(`${cluster.url}/health`)).status
    const agentLine = () => new Promise((resolve, reject) => {
      let text = ''
      net.connect(agentPort, '127.0.0.1').on('data', (data) => { text += data })
        .on('close', () => resolve(text))
        .on('error', reject)
    })
    const client = createClient(t, cluster.url)
    await waitFor(() => client.connected)
    await isCordoned(false)
    assert.equal((await ask('PUT', '/cordon', { cordoned: true }, READER)).status, 403)
    assert.equal((await ask('PUT', '/cordon', { cordoned: 'yes' })).status, 400)
    assert.equal(await health(), 200)
    assert.match(await agentLine(), /^ready up/)

    assert.deepEqual(await cordon(true), {
      ok: true, cordoned: true, processes: ['api-0', 'gateway-0', 'gateway-1']
    })
    await waitFor(async () => {
      const { status, body: { reasons } } = await ask('GET', '/ready')
      return status === 503 && ['gateway-0', 'gateway-1'].every((name) => reasons.includes(`${name}: cordoned`))
    }, { message: async () => (await ask('GET', '/ready')).body })
    // each connection reaches any of the workers
    for (let i = 0; i < 8; i++) assert.equal(await health(), 503)
    await isCordoned(true)
    await waitFor(async () => await agentLine() === 'drain\n', { message: agentLine })
    assert.ok(client.connected, 'clients stay')
    const late = createClient(t, cluster.url)
    await waitFor(() => late.connected, { message: 'a client that a balancer sends anyway is served' })

    process.kill(await someWorker(), 'SIGKILL')
    await waitFor(async () => {
      const { processes, reasons } = (await ask('GET', '/ready')).body
      const cordoned = reasons.filter((/** @type {string} */ one) => /^gateway.*cordoned/.test(one))
      return processes.length === 4 && cordoned.length === 2
    }, { timeout: 30_000, message: 'a worker that is started later is cordoned, too' })

    assert.equal((await cordon(false)).ok, true)
    await waitFor(cluster.ready, { timeout: 30_000 })
    for (let i = 0; i < 4; i++) assert.equal(await health(), 200)
  })

  test('the log level of the processes changes for all, for one, by a signal, and for later ones', async () => {
    const names = ['launcher', 'api-0', 'gateway-0', 'gateway-1']
    const levels = async () => (await ask('GET', '/loglevel')).body.processes
    /** @param {string} level @param {(name: string) => boolean} [which] */
    const all = (level, which = () => true) => names.map((name) => ({ name, level: which(name) ? level : 'warn' }))
    /** A process that pauses for a moment is shown without its level. @param {object[]} expected */
    const have = (expected) => waitFor(async () => isDeepStrictEqual(await levels(), expected), {
      message: () => JSON.stringify(expected)
    })
    /** Again if a process pauses. @param {object} body */
    const change = (body) => waitFor(async () => {
      const { status, body: { processes } } = await ask('PUT', '/loglevel', body)
      assert.equal(status, 200)
      return processes.every((/** @type {any} */ { level }) => level !== undefined)
    }, { message: () => JSON.stringify(body) })

    // LOG_LEVEL
    await have(all('warn'))
    for (const [from, to] of [['warn', 'info'], ['info', 'error'], ['error', 'debug'], ['debug', 'warn'], ['warn', 'debug']]) {
      await change({ level: to })
      // the processes themselves say it, in their own lines
      await waitFor(() => names.every((name) => {
        const [role, slot] = name.split('-')
        return cluster.output().includes(`[${role}${slot === undefined ? '' : ` ${slot}`}] the log level was changed ` +
          `{"from":"${from}","to":"${to}"}`)
      }), { message: cluster.output })
    }
    await have(all('debug'))

    await change({ level: 'default' })
    await have(all('warn'))
    await change({ level: 'trace', process: 'gateway-1' })
    await have(all('trace', (name) => name === 'gateway-1'))
    await change({ level: 'default' })

    process.kill(cluster.pid, 'SIGUSR2')
    await have(all('debug'))
    process.kill(cluster.pid, 'SIGUSR2')
    await have(all('warn'))

    const worker = await someWorker()
    process.kill(worker, 'SIGUSR2')
    await waitFor(async () => (await levels()).filter((/** @type {any} */ { level }) => level === 'debug').length === 1)

    await change({ level: 'error' })
    process.kill(worker, 'SIGKILL')
    await waitFor(async () => !(await childrenOf(cluster.pid)).some(({ pid }) => pid === worker))
    await waitFor(cluster.ready, { timeout: 30_000 })
    // a process that is started later has it too
    await have(all('error'))

    assert.equal((await ask('PUT', '/loglevel', { level: 'debug' }, 'a-wrong-token')).status, 401)
    assert.equal((await ask('PUT', '/loglevel', { level: 'loud' })).status, 400)
    assert.equal((await ask('PUT', '/loglevel', { level: 'debug', process: 'gateway-9' })).status, 404)
    // nothing changed
    await have(all('error'))
  })
})
