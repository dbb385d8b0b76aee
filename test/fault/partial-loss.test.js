/**
 * Redis comes back without some, all or none of its last writes, after a power loss or as a replica that was behind; in
 * every other round the gateway workers go down as well. Records are published all the time, so that new ones reuse the
 * offsets of lost ones before any worker compares them.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startCluster } from '../helpers/cluster.js'
import { kafkaBrokers } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { clusterAddresses, clusterArgs, startRedis, startRedisCluster } from '../services/redis.js'
import { faultRounds } from './rounds.js'
import { openScene } from './scene.js'

const TIMEOUT = 600_000
const CLIENTS = { clients: 20, documents: 4, each: 4, perSecond: 100 }
/** Time in a round with Redis available, before and after the fault, ms. */
const BEFORE = 600
const AFTER = 1500

const scope = fileScope()

/** @param {string} redisUrl */
async function openCluster (redisUrl) {
  const topics = freshTopics(scope)
  const cluster = await startCluster(scope, { ...topics.env, REDIS_URL: redisUrl, WORKERS: '2' })
  const scene = await openScene(scope, {
    urls: [cluster.url],
    apiUrl: () => cluster.apiUrl,
    kafka: { brokers: kafkaBrokers(), topic: topics.downlink },
    ...CLIENTS
  })
  return {
    scene,
    /** Kills the gateway workers; the launcher restarts them. */
    async killWorkers () {
      for (const { pid, role } of await childrenOf(cluster.pid)) if (role === 'gateway') process.kill(pid, 'SIGKILL')
    },
    /**
     * Waits until Redis and all clients are back, and then some more: a client that had to resync needs a later record.
     */
    async over () {
      await waitFor(() => cluster.ready(), { timeout: 60_000, message: 'the cluster to be ready' })
      await waitFor(async () => {
        const { connected, clients } = await scene.clients.progress(scene.publisher.published)
        return connected === clients
      }, { timeout: 60_000, message: 'all clients to be back' })
      await delay(AFTER)
    }
  }
}

/** @param {string} url */
function adminOf (url) {
  const admin = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  admin.on('error', () => {})
  scope.after(() => admin.disconnect())
  return admin
}

/** In every other round the workers are killed as well. @param {number} round */
const workersToo = (round) => round % 2 === 1

describe('a Redis that returns without its last writes', () => {
  test('power loss', { timeout: TIMEOUT }, async () => {
    const server = await startRedis({
      args: ['--appendonly', 'yes', '--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0']
    })
    scope.after(() => server.stop())
    const { scene, killWorkers, over } = await openCluster(server.url)
    const directory = join(server.directory, 'appendonlydir')
    const log = () => join(directory, readdirSync(directory).find((name) => name.endsWith('.incr.aof')) ?? '')

    await faultRounds(scene, 'Redis: power loss', 20, async (round) => {
      const kept = /** @type {const} */ (['some', 'some', 'some', 'none', 'all'])[Math.floor(round / 2) % 5]
      const tail = randomInt(20, 1500)
      await delay(BEFORE)
      const { size } = statSync(log())
      await delay(tail)
      await server.kill('SIGKILL')
      const lost = statSync(log()).size - size
      if (kept === 'some') truncateSync(log(), size)
      if (kept === 'none') rmSync(directory, { recursive: true })
      if (workersToo(round)) await killWorkers()
      await delay(randomInt(0, 2000))
      await server.restart()
      await over()
      return `${kept === 'some' ? `the last ${tail} ms lost (${lost} bytes)` : `${kept} of it kept`}${workersToo(round) ? ', workers killed' : ''}`
    })
  })

  test('failover to a replica that was behind, by address', { timeout: TIMEOUT }, async () => {
    const servers = [await startRedis(), await startRedis()]
    for (const server of servers) scope.after(() => server.stop())
    const admins = servers.map(({ url }) => adminOf(url))
    let master = 0
    const address = await movingAddress(() => servers[master].port)
    const follow = async () => {
      await admins[1 - master].call('REPLICAOF', '127.0.0.1', servers[master].port)
      await waitFor(async () => /master_link_status:up/.test(await admins[1 - master].info('replication')), {
        timeout: 30_000,
        message: 'the server to be a replica'
      })
    }
    const { scene, killWorkers, over } = await openCluster(`redis://127.0.0.1:${address.port}`)

    await faultRounds(scene, 'Redis: failover by address', 8, async (round) => {
      await follow()
      await delay(BEFORE)
      const tail = [randomInt(20, 1500), 0][Math.floor(round / 2) % 2]
      // from here on writes do not reach the replica
      await admins[1 - master].call('REPLICAOF', 'NO', 'ONE')
      await delay(tail)
      await servers[master].kill('SIGKILL')
      if (workersToo(round)) await killWorkers()
      await delay(randomInt(0, 2000))
      master = 1 - master
      address.cut()
      await over()
      await servers[1 - master].restart()
      return `the replica was ${tail} ms behind${workersToo(round) ? ', workers killed' : ''}`
    })
  })

  test('failover of Redis Cluster to a replica that was behind', { timeout: TIMEOUT }, async () => {
    const nodes = await startRedisCluster()
    scope.after(() => nodes.stop())
    const [{ port, busPort }] = await clusterAddresses(1)
    const replica = await startRedis({ port, args: clusterArgs(busPort) })
    scope.after(() => replica.stop())
    /** The master and the replica of one shard. */
    const servers = [nodes.nodes[0], replica]
    const admins = servers.map(({ url }) => adminOf(url))
    const others = nodes.nodes.slice(1).map(({ url }) => adminOf(url))
    await admins[0].call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
    const own = /** @type {string} */ (await admins[0].cluster('MYID'))
    await waitFor(() => admins[1].call('CLUSTER', 'REPLICATE', own), {
      timeout: 20_000,
      message: 'the replica to know its master'
    })
    const isReplica = async (/** @type {number} */ which) =>
      /role:slave[^]*master_link_status:up/.test(await admins[which].info('replication'))
    await waitFor(() => isReplica(1), { timeout: 20_000, message: 'the node to be a replica' })
    for (const admin of [...admins, ...others])
      await admin.config('SET', 'cluster-node-timeout', 2000, 'cluster-replica-validity-factor', 0)
    let master = 0
    const { scene, killWorkers, over } = await openCluster(nodes.url)

    await faultRounds(scene, 'Redis Cluster: failover', 6, async (round) => {
      await waitFor(() => isReplica(1 - master), { timeout: 60_000, message: 'the old master to be a replica' })
      await delay(BEFORE)
      const tail = randomInt(20, 1000)
      // the replica checks its master once a second and reconnects then
      await admins[master].call('CLIENT', 'KILL', 'TYPE', 'replica')
      await delay(tail)
      await servers[master].kill('SIGKILL')
      if (workersToo(round)) await killWorkers()
      await waitFor(async () => /role:master/.test(await admins[1 - master].info('replication')), {
        timeout: 60_000,
        message: 'the replica to take over'
      })
      master = 1 - master
      await waitFor(async () => String(await others[0].cluster('INFO')).includes('cluster_state:ok'), {
        timeout: 60_000,
        message: 'the cluster to be complete'
      })
      await over()
      await servers[1 - master].restart()
      await admins[1 - master].config('SET', 'cluster-node-timeout', 2000, 'cluster-replica-validity-factor', 0)
      return `the replica was cut off ${tail} ms before${workersToo(round) ? ', workers killed' : ''}`
    })
  })
})

/**
 * An address that follows the master, as a virtual IP does.
 * @param {() => number} target port of the master
 */
async function movingAddress (target) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer((client) => {
    const upstream = connect(target(), '127.0.0.1')
    for (const [from, to] of [[client, upstream], [upstream, client]]) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => { for (const socket of sockets) socket.destroy() }
  scope.after(() => {
    cut()
    server.close()
  })
  return { port: /** @type {import('node:net').AddressInfo} */ (server.address()).port, cut }
}
