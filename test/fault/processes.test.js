/**
 * Processes that die, hang, or are replaced.
 */
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { kafkaBrokers, redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePorts } from '../services/ports.js'
import { openScene } from './scene.js'
import { supervise } from './supervisor.js'

const TIMEOUT = 240_000

describe('processes', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof supervise>>} */
  let cluster
  /** @type {import('./scene.js').Scene} */
  let scene
  before(async () => {
    const topics = freshTopics(scope)
    const [port, apiPort, adminPort] = await freePorts(3)
    cluster = await supervise(scope, (t) =>
      startCluster(t, {
        ...topics.env,
        REDIS_URL: redisUrl(),
        WORKERS: '2',
        PORT: String(port),
        API_PORT: String(apiPort),
        ADMIN_PORT: String(adminPort)
      })
    )
    scene = await openScene(scope, {
      urls: [cluster.current.url],
      apiUrl: () => cluster.current.apiUrl,
      kafka: { brokers: kafkaBrokers(), topic: topics.downlink }
    })
  }, { timeout: TIMEOUT })

  /** @param {string} role @returns {Promise<number>} */
  const pidOf = async (role) => {
    const found = (await childrenOf(cluster.current.pid)).find((child) => child.role === role)
    if (found === undefined) throw new Error(`no ${role}`)
    return found.pid
  }

  for (const role of ['gateway', 'ingest', 'api']) {
    test(`kill -9 of ${role}`, { timeout: TIMEOUT }, () => scene.fault(`kill -9 of ${role}`, async () => {
      const pid = await pidOf(role)
      process.kill(pid, 'SIGKILL')
      await waitFor(async () => !isAlive(pid) && (await cluster.current.ready()), {
        timeout: 60_000,
        message: 'the cluster to be ready again'
      })
    }))
  }

  test('kill -9 of launcher', { timeout: TIMEOUT }, async () => {
    const children = await childrenOf(cluster.current.pid)
    await scene.fault('kill -9 of launcher', async () => {
      process.kill(cluster.current.pid, 'SIGKILL')
      await cluster.restarted()
    })
    await waitFor(() => !children.some(({ pid }) => isAlive(pid)), {
      timeout: 60_000,
      message: () => `processes ${children.filter(({ pid }) => isAlive(pid)).map(({ role }) => role)} to end`
    })
  })

  for (const role of ['gateway', 'ingest']) {
    test(`SIGSTOP of ${role} for 5 s`, { timeout: TIMEOUT }, () =>
      scene.fault(`SIGSTOP of ${role} for 5 s`, async () => {
        const pid = await pidOf(role)
        process.kill(pid, 'SIGSTOP')
        await delay(5000)
        process.kill(pid, 'SIGCONT')
      })
    )

    test(`SIGSTOP of ${role} until it is killed`, { timeout: TIMEOUT }, () =>
      scene.fault(`SIGSTOP of ${role} until it is killed`, async () => {
        const pid = await pidOf(role)
        process.kill(pid, 'SIGSTOP')
        await waitFor(() => !isAlive(pid), { timeout: 60_000, message: 'its end' })
      })
    )
  }

  test('rolling reload', { timeout: TIMEOUT }, () => scene.fault('rolling reload (SIGHUP)', async () => {
    const old = await childrenOf(cluster.current.pid)
    process.kill(cluster.current.pid, 'SIGHUP')
    await waitFor(() => !old.some(({ pid }) => isAlive(pid)), {
      timeout: 120_000,
      message: 'every process to be replaced'
    })
  }))
})
