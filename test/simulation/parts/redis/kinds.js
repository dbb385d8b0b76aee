import { ShardedRedis } from './shards.js'
import { SingleRedis } from './single.js'

/**
 * Redis as it is run in production, in a world.
 *
 * @typedef {'single' | 'shards'} RedisKind
 * @typedef {SingleRedis | ShardedRedis} RedisOfWorld
 */

/** @param {import('../../world/world.js').World} world @param {RedisKind} kind @returns {RedisOfWorld} */
export const createRedisIn = (world, kind) => kind === 'shards' ? new ShardedRedis(world) : new SingleRedis(world)
