/**
 * Thousands of clients that reconnect at the same time.
 */
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { kafkaBrokers, redisUrl } from '../helpers/env.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { openScene } from './scene.js'
import { watchUsage } from './usage.js'

const TIMEOUT = 300_000

/**
 * @param {import('node:test').TestContext} t
 * @param {number} clients
 */
async function setUp (t, clients) {
  const topics = freshTopics(t)
  const cluster = await startCluster(t, { ...topics.env, REDIS_URL: redisUrl(), WORKERS: '2' })
  const scene = await openScene(t, {
    urls: [cluster.url],
    apiUrl: () => cluster.apiUrl,
    kafka: { brokers: kafkaBrokers(), topic: topics.downlink },
    clients,
    kind: 'light',
    documents: 50,
    each: 1
  })
  const gateways = async () =>
    (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway').map(({ pid }) => pid)
  return { cluster, scene, gateways }
}

/** @param {ReturnType<ReturnType<typeof watchUsage>['stop']>} usage */
const told = ({ before, most, busiest, cpu }) => ({
  'largest gateway worker before, MB': before,
  'largest gateway worker, MB': most,
  'busiest gateway worker, percent of a core': busiest,
  'all gateway workers, s of CPU': cpu
})

describe('crowds', () => {
  test('2,000 clients lose their connections and reconnect at once', { timeout: TIMEOUT }, async (t) => {
    const { scene, gateways } = await setUp(t, 2000)
    const usage = watchUsage(await gateways())
    await scene.fault('storm: 2,000 clients reconnect at once', async () => {
      await scene.clients.cut()
      await delay(3000)
    }, { more: () => told(usage.stop()) })
  })

  test('a rolling reload with 5,000 connections', { timeout: TIMEOUT }, async (t) => {
    const { cluster, scene, gateways } = await setUp(t, 5000)
    const usage = watchUsage(await gateways())
    await scene.fault('rolling reload (SIGHUP), 5,000 connections', async () => {
      const old = await childrenOf(cluster.pid)
      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(async () => {
        for (const pid of await gateways()) usage.add(pid)
        return !old.some(({ pid }) => isAlive(pid))
      }, { timeout: 150_000, message: 'every process to be replaced' })
    }, { more: () => told(usage.stop()) })
  })
})
