/**
 * A master with replicas, watched by Redis Sentinel.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { makeDirectory, removeDirectory } from './directory.js'
import { spawnGuarded } from './guard.js'
import { freePorts } from './ports.js'
import { REDIS_PROGRAM, redisAnswers, startRedis } from './redis.js'
import { waitUntil } from './wait.js'

const HOST = '127.0.0.1'
export const MASTER_NAME = 'documents'

/**
 * @typedef {object} SentinelSet
 * @property {string} url redis+sentinel://…
 * @property {import('./redis.js').RedisServer[]} servers the master, then its replicas
 * @property {{ port: number, process: import('./guard.js').GuardedProcess }[]} sentinels
 * @property {() => Promise<number>} masterPort as the Sentinels say
 * @property {() => Promise<void>} stop
 */

/**
 * @param {object} [options]
 * @param {number} [options.replicas]
 * @param {number} [options.downAfter] silence after which a server counts as down, ms
 * @param {string} [options.password] of Redis
 * @param {string} [options.sentinelPassword]
 * @param {string[]} [options.args] further options of redis-server
 * @returns {Promise<SentinelSet>}
 */
export async function startSentinels ({ replicas = 2, downAfter = 1000, password, sentinelPassword, args = [] } = {}) {
  const stops = /** @type {(() => Promise<unknown> | void)[]} */ ([])
  const stop = async () => { for (const one of stops.splice(0).reverse()) await one() }
  try {
    const common = ['--repl-diskless-sync-delay', '0', ...args]
    const master = await startRedis({ args: common, password })
    stops.push(() => master.stop())
    const others = await Promise.all(Array.from({ length: replicas }, () =>
      startRedis({ args: [...common, '--replicaof', HOST, String(master.port)], password })))
    for (const other of others) stops.push(() => other.stop())
    await withClient({ port: master.port, password }, (client) => waitUntil('replicas', async () => {
      const info = await client.info('replication')
      if ((info.match(/state=online/g) ?? []).length < replicas) throw new Error(info)
    }))
    const sentinels = await Promise.all((await freePorts(3)).map(async (port) => {
      const directory = makeDirectory('sentinel')
      const conf = join(directory, 'sentinel.conf')
      writeFileSync(conf, [
        `port ${port}`, `bind ${HOST}`, `dir ${directory}`,
        `sentinel monitor ${MASTER_NAME} ${HOST} ${master.port} 2`,
        `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfter}`,
        `sentinel failover-timeout ${MASTER_NAME} 5000`,
        ...(password === undefined ? [] : [`sentinel auth-pass ${MASTER_NAME} ${password}`]),
        ...(sentinelPassword === undefined
          ? []
          : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
        ''
      ].join('\n'))
      const process = spawnGuarded(REDIS_PROGRAM, [conf, '--sentinel'], {
        log: join(directory, 'sentinel.log'), directory
      })
      stops.push(async () => {
        await process.stop(1000)
        removeDirectory(directory)
      })
      await redisAnswers(port, [process], sentinelPassword)
      return { port, process }
    }))
    const ask = (/** @type {number} */ port, /** @type {string[]} */ ...command) =>
      withClient({ port, password: sentinelPassword }, (client) => client.call('SENTINEL', ...command))
    for (const { port } of sentinels) {
      await waitUntil(`the Sentinel on port ${port} to know the others`, async () => {
        const answer = String(await ask(port, 'CKQUORUM', MASTER_NAME))
        if (!answer.startsWith('OK 3 usable')) throw new Error(answer)
        const known = /** @type {unknown[]} */ (await ask(port, 'REPLICAS', MASTER_NAME))
        if (known.length < replicas) throw new Error(`${known.length} replicas`)
      })
    }
    const hosts = sentinels.map(({ port }) => `${HOST}:${port}`).join(',')
    return {
      url: `redis+sentinel://${password === undefined ? '' : `:${password}@`}${hosts}/${MASTER_NAME}` +
        (sentinelPassword === undefined ? '' : `?sentinel_password=${sentinelPassword}`),
      servers: [master, ...others],
      sentinels,
      async masterPort () {
        for (const { port } of sentinels) {
          const found = await ask(port, 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME).catch(() => undefined)
          if (Array.isArray(found)) return Number(found[1])
        }
        throw new Error('no Sentinel knows the master')
      },
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * @template T
 * @param {{ port: number, password?: string }} server
 * @param {(client: Redis) => Promise<T>} use
 */
async function withClient (server, use) {
  const client = new Redis({
    host: HOST, ...server, lazyConnect: true, commandTimeout: 2000, retryStrategy: () => null
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.disconnect()
  }
}
