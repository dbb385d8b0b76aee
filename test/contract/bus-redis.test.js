import { BACKENDS } from '../helpers/backends.js'
import { busContract } from './bus.js'
import { fresh } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const prefix = fresh('test')
for (const [name, url] of BACKENDS) busContract(name, (options) => createRedisPair(url(), options, { prefix }))
