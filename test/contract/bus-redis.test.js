import { BACKENDS } from '../helpers/backends.js'
import { busContract } from './bus.js'
import { createRedisPair } from './bus-redis-pair.js'

for (const [name, url] of BACKENDS) busContract(name, (options) => createRedisPair(url(), options))
