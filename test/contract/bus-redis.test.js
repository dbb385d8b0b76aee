import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { busContract } from './bus.js'
import { createRedisPair } from './bus-redis-pair.js'

busContract('redis', (options) => createRedisPair(redisUrl(), options))
busContract('redis cluster', (options) => createRedisPair(redisClusterUrl(), options))
