import { createRedis } from '../../redis/client.js'
import { scriptNames } from '../../redis/scripts.js'

/** Responses of scripts; all other commands are answered with 0. @type {Record<string, (args: any[]) => unknown>} */
const ANSWERS = {
  inkcast_open: () => ['nothing', '0'],
  inkcast_users: () => [],
  inkcast_history: () => ['nothing', '0', '2'],
  inkcast_devices: ([count]) => Array.from({ length: Number(count) }, () => ['1', '']).flat(),
  inkcast_hold: holdNothing
}

/**
 * A Redis client that accepts every command and sends none, for the warm-up of a worker. All code runs as with a real
 * Redis, up to the bytes that would be sent. It is never started and need not be stopped.
 *
 * @param {object} settings
 * @param {string[]} settings.urls of the real Redis: a single one or Redis Cluster
 * @param {string} [settings.prefix] of its keys
 * @param {() => import('node:stream').Duplex} [settings.connect] as of the real one
 * @param {import('../../base/common/log.js').Log} settings.log
 * @param {import('../../base/common/clock.js').Clock} settings.clock
 * @param {import('../../base/common/random.js').Random} settings.random
 * @returns {import('../../redis/client.js').RedisConnection}
 */
export function createNullRedis ({ urls, prefix, connect, log, clock, random }) {
  const redis = createRedis({ urls, prefix, connect, name: 'warm-up', log, clock, random })
  const names = scriptNames()
  const client = /** @type {any} */ (redis.client)
  const socket = {}
  client.sendCommand = (/** @type {any} */ command) => {
    const [script, ...args] = command.args
    command.toWritable(socket)
    command.resolve(ANSWERS[names.get(script) ?? '']?.(args) ?? 0)
    return command.promise
  }
  redis.channels.subscribe = async () => {}
  return redis
}

/**
 * The response of hold.lua when there are no other holders.
 * @param {any[]} args number of keys, keys, holder, whether there are services, changes
 */
function holdNothing ([count, ...rest]) {
  const [services, ...changes] = rest.slice(Number(count) + 1)
  return changes.map(([op, told]) => {
    const held = op === '+' ? '1' : '0'
    return services !== '1' || op === '=' || told === held ? '.' : held
  }).join('')
}
