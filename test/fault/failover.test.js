/**
 * A master of a Redis Cluster dies, and its replica takes over.
 */
import { before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { kafkaBrokers } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { waitFor } from '../helpers/wait.js'
import { clusterAddresses, clusterArgs, startRedis, startRedisCluster } from '../services/redis.js'
import { openClusterScene } from './scene.js'

const TIMEOUT = 240_000
/** Time until nodes declare a master failed, ms. */
const NODE_TIMEOUT = 2000

describe('redis cluster', () => {
  const scope = fileScope()
  /** @type {import('../services/redis.js').RedisCluster} */
  let nodes
  /** @type {Redis[]} of the masters, then the replica */
  let clients
  /** @type {import('./scene.js').Scene} */
  let scene

  /** @param {Redis} client @returns {Promise<Map<string, string>>} flags by port */
  async function seenBy (client) {
    const lines = String(await client.cluster('NODES')).trim().split('\n')
    return new Map(
      lines.map((line) => line.split(' '))
        .map(([, address, flags, , , , , link]) => [address.split(/[:@]/)[1], `${flags} ${link}`])
    )
  }

  before(async () => {
    nodes = await startRedisCluster()
    scope.after(() => nodes.stop())
    const [{ port, busPort }] = await clusterAddresses(1)
    const replica = await startRedis({ port, args: clusterArgs(busPort) })
    scope.after(() => replica.stop())
    clients = [...nodes.nodes, replica].map(({ url }) => {
      const client = new Redis(url, { retryStrategy: () => 200 })
      client.on('error', () => {})
      scope.after(() => client.disconnect())
      return client
    })
    const [first] = clients
    await first.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
    const own = /** @type {string} */ (await first.cluster('MYID'))
    await waitFor(() => clients[3].call('CLUSTER', 'REPLICATE', own), {
      timeout: 20_000,
      message: 'the replica to know its master'
    })
    await waitFor(async () => /role:slave[^]*master_link_status:up/.test(await clients[3].info('replication')), {
      timeout: 20_000,
      message: 'the node to be a replica'
    })
    for (const client of clients) await client.config('SET', 'cluster-node-timeout', NODE_TIMEOUT)
    await waitFor(
      async () => (await Promise.all(clients.map(seenBy))).every((nodes) => nodes.get(String(port))?.includes('slave')),
      { timeout: 20_000, message: 'every node to know the replica' }
    )

    const topics = freshTopics(scope)
    scene = await openClusterScene(
      scope,
      { ...topics.env, REDIS_URL: nodes.url },
      { brokers: kafkaBrokers(), topic: topics.downlink }
    )
  }, { timeout: TIMEOUT })

  test('a master is killed, its replica takes over', { timeout: TIMEOUT }, () =>
    scene.fault(
      'Redis Cluster: a master is killed, its replica takes over',
      async () => {
        await nodes.nodes[0].kill('SIGKILL')
        await waitFor(async () => /role:master/.test(await clients[3].info('replication')), {
          timeout: 60_000,
          message: 'the replica to take over'
        })
        await waitFor(async () => String(await clients[1].cluster('INFO')).includes('cluster_state:ok'), {
          timeout: 60_000,
          message: 'the cluster to be complete'
        })
        // the last writes that the master acknowledged may not have reached its replica
      },
      { resyncs: 'some' }
    )
  )

  test('the old master returns as a replica', { timeout: TIMEOUT }, () =>
    scene.fault('Redis Cluster: the old master returns as a replica', async () => {
      await nodes.nodes[0].restart()
      await waitFor(async () => /role:slave[^]*master_link_status:up/.test(await clients[0].info('replication')), {
        timeout: 60_000,
        message: 'the old master to be a replica'
      })
    })
  )
})
