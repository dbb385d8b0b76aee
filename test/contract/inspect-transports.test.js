import { after, before, describe } from 'node:test'
import { createRedisTransport } from '../../src/watch/inspect/redis-transport.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { inspectTransportContract } from './inspect-transport.js'

for (const [name, url] of BACKENDS) {
  describe(name, () => {
    const { log } = recordingLog()
    const connections = [1, 2].map((i) =>
      testRedis({ urls: url().split(','), name: `test-${i}`, log }))
    before(() => Promise.all(connections.map((redis) => redis.start())))
    after(() => Promise.all(connections.map((redis) => redis.stop())))
    inspectTransportContract(name, async () => {
      const [one, two] = connections.map((redis) => createRedisTransport({ redis, log }))
      return [one, two]
    })
  })
}
