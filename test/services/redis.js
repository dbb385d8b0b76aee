/**
 * A local redis-server without persistence, and a Redis Cluster of three of them.
 */
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { makeDirectory, removeDirectory } from './directory.js'
import { spawnGuarded } from './guard.js'
import { ensureInstalled } from './install.js'
import { freePort, freePorts } from './ports.js'
import { waitUntil } from './wait.js'

const HOST = '127.0.0.1'
const SLOTS = 16_384

/** @typedef {'redis-server' | 'valkey-server'} RedisProgram */
/** The server of all tests; TEST_REDIS=valkey-server runs them on Valkey. */
export const REDIS_PROGRAM = /** @type {RedisProgram} */ (process.env.TEST_REDIS ?? 'redis-server')

/**
 * @typedef {object} RedisServer
 * @property {string} url redis://127.0.0.1:port
 * @property {number} port
 * @property {number} pid of the running process; changes with a restart
 * @property {string} directory
 * @property {() => Promise<void>} stop ends it and removes its directory; a second call does nothing
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill default SIGKILL; resolves when it has ended. SIGSTOP and
 *   SIGCONT suspend and resume it
 * @property {() => Promise<void>} restart ends it if it still runs and starts it on the same port, empty
 * @property {() => Promise<void>} release lets it outlive this process
 */

/**
 * Starts one redis-server on the loopback interface and waits until it responds.
 *
 * @param {object} [options]
 * @param {number} [options.port] default: a free one
 * @param {string[]} [options.args] further options of redis-server, such as ['--maxmemory', '64mb']
 * @param {string} [options.password]
 * @param {string} [options.parent] parent of its directory; default: the system's temporary directory
 * @param {RedisProgram} [options.program]
 * @param {NodeJS.ProcessEnv} [options.env] default: this process's environment
 * @returns {Promise<RedisServer>}
 * @throws {Error} when it can't be started, with the end of its log
 */
export async function startRedis ({ port, program = REDIS_PROGRAM, ...options } = {}) {
  await ensureInstalled([program])
  return startServer({ ...options, port: port ?? await freePort(), retry: port === undefined, program })
}

/**
 * @typedef {object} RedisCluster
 * @property {string} url the nodes' URLs, comma separated
 * @property {RedisServer[]} nodes
 * @property {() => Promise<void>} stop
 * @property {() => Promise<void>} release
 */

/**
 * Starts three masters that share all hash slots and waits until each of them sees a complete cluster (2 to 3 s: a
 * fresh node rejects writes for 2 s).
 *
 * @param {object} [options]
 * @param {string[]} [options.args] further options of redis-server, for each node
 * @param {string} [options.parent] parent of the directories
 * @returns {Promise<RedisCluster>}
 */
export async function startRedisCluster ({ args = [], parent } = {}) {
  await ensureInstalled([REDIS_PROGRAM])
  const addresses = await clusterAddresses(3)
  const started = await Promise.allSettled(addresses.map(({ port, busPort }) =>
    startServer({ port, retry: false, parent, args: [...clusterArgs(busPort), ...args] })))
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const each = async (/** @type {'stop' | 'release'} */ what) => {
    await Promise.all(nodes.map((node) => node[what]()))
  }
  try {
    for (const result of started) if (result.status === 'rejected') throw result.reason
    await joinCluster(addresses)
  } catch (error) {
    await each('stop')
    throw error
  }
  return { url: nodes.map(({ url }) => url).join(','), nodes, stop: () => each('stop'), release: () => each('release') }
}

/** @typedef {{ port: number, busPort: number }} NodeAddress */

/**
 * A node that first sees the others waits for this time before it participates, so it starts short; later it is long
 * enough that a machine busy with tests causes no false failures. After a restart a master waits for 2 s in any case.
 */
const NODE_TIMEOUT_MS = { atFirst: 500, later: 5000, restarted: 2000 }

/**
 * Adds a port for the cluster bus: the default, port + 10,000, may be in use.
 * @param {number} count
 * @returns {Promise<NodeAddress[]>}
 */
export async function clusterAddresses (count) {
  const ports = await freePorts(2 * count)
  return Array.from({ length: count }, (_, index) => ({ port: ports[2 * index], busPort: ports[2 * index + 1] }))
}

/**
 * @param {number} busPort
 * @returns {string[]} redis-server's options for a node of a cluster
 */
export function clusterArgs (busPort) {
  return [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-config-file',
    `nodes-${busPort}.conf`,
    '--cluster-node-timeout',
    String(NODE_TIMEOUT_MS.atFirst),
    '--cluster-announce-ip',
    HOST
  ]
}

/**
 * Assigns the hash slots, introduces the nodes to each other, and waits until all of them agree.
 * @param {NodeAddress[]} addresses
 */
export async function joinCluster (addresses) {
  const share = Math.ceil(SLOTS / addresses.length)
  await Promise.all(addresses.map(({ port }, index) => withClient(port, async (client) => {
    await client.cluster('ADDSLOTSRANGE', index * share, Math.min((index + 1) * share, SLOTS) - 1)
    // distinct epochs from the start; otherwise the nodes have to resolve the conflict first
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
  })))
  const [first, ...others] = addresses
  await withClient(first.port, async (client) => {
    for (const { port, busPort } of others) await client.call('CLUSTER', 'MEET', HOST, port, busPort)
  })
  await Promise.all(
    addresses.map(({ port }) =>
      waitUntil(`Redis Cluster node on port ${port}`, () =>
        withClient(port, async (client) => {
          const info = String(await client.cluster('INFO'))
          const complete = [
            'cluster_state:ok',
            `cluster_slots_ok:${SLOTS}`,
            `cluster_known_nodes:${addresses.length}`,
            `cluster_size:${addresses.length}`
          ]
          if (!complete.every((line) => info.includes(line))) throw new Error(info.split('\r\n').slice(0, 7).join(' '))
        })
      )
    )
  )
  await Promise.all(addresses.map(({ port }) => setNodeTimeout(port, NODE_TIMEOUT_MS.later)))
}

/** @param {number} port @param {number} ms */
const setNodeTimeout = (port, ms) =>
  withClient(port, (client) => client.config('SET', 'cluster-node-timeout', ms))

/**
 * Resolves when a server on this port of the loopback interface responds to PING.
 * @param {number} port
 * @param {import('./guard.js').GuardedProcess[]} [processes] rejects when one of these ends
 * @param {string} [password]
 */
export async function redisAnswers (port, processes, password) {
  await waitUntil(`Redis on port ${port}`, () => withClient(port, (client) => client.ping(), password), {
    processes,
    everyMs: 20
  })
}

/**
 * @param {{ port: number, retry: boolean, args?: string[], password?: string, parent?: string, program?: string,
 *   env?: NodeJS.ProcessEnv }} options retry: with another port if this one is in use
 * @returns {Promise<RedisServer>}
 */
async function startServer ({ port, retry, args = [], password, parent, program = REDIS_PROGRAM, env }) {
  const directory = makeDirectory('redis', parent)
  const log = join(directory, 'redis.log')
  const launch = async () => {
    const server = spawnGuarded(program, ['--port', String(port), '--bind', HOST, '--dir', directory,
      '--save', '', '--appendonly', 'no', ...args,
      ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password])], { log, directory, env })
    try {
      await redisAnswers(port, [server], password)
    } catch (error) {
      await server.stop(0)
      throw error
    }
    return server
  }
  /** @type {import('./guard.js').GuardedProcess} */
  let server
  try {
    server = await launch()
  } catch (error) {
    removeDirectory(directory)
    if (!retry || !String(error).includes('Address already in use')) throw error
    return startServer({ port: await freePort(), retry, args, password, parent, program, env })
  }
  return {
    url: `redis://${HOST}:${port}`,
    port,
    get pid () { return server.pid },
    directory,
    stop: async () => {
      await server.stop()
      removeDirectory(directory)
    },
    kill: (signal) => server.kill(signal),
    restart: async () => {
      await server.stop()
      server = await launch()
      if (args.includes('--cluster-enabled')) await setNodeTimeout(port, NODE_TIMEOUT_MS.restarted)
    },
    release: () => server.release()
  }
}

/**
 * @template T
 * @param {number} port
 * @param {(client: Redis) => Promise<T>} use
 * @param {string} [password]
 * @returns {Promise<T>}
 */
async function withClient (port, use, password) {
  const client = new Redis({
    host: HOST,
    port,
    password,
    lazyConnect: true,
    connectTimeout: 2000,
    commandTimeout: 2000,
    retryStrategy: () => null
  })
  client.on('error', () => {}) // connect() rejects with the same error
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.disconnect()
  }
}
