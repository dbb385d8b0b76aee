import { ReplicatedRedis } from './replicated.js'
import { ShardedRedis } from './shards.js'
import { SingleRedis } from './single.js'

/**
 * Redis as it is run in production, in a world.
 *
 * @typedef {'single' | 'replica' | 'shards'} RedisKind
 * @typedef {SingleRedis | ReplicatedRedis | ShardedRedis} RedisOfWorld
 */

const CLASSES = { single: SingleRedis, replica: ReplicatedRedis, shards: ShardedRedis }

/** @param {import('../../world/world.js').World} world @param {RedisKind} kind @returns {RedisOfWorld} */
export const createRedisIn = (world, kind) => new CLASSES[kind](world)
