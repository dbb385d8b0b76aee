import { after, before, describe } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisTransport } from '../../src/watch/inspect/redis-transport.js'
import { createRedis } from '../../src/redis/client.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { inspectTransportContract } from './inspect-transport.js'

for (const [name, url] of BACKENDS) {
  describe(name, () => {
    const { log } = recordingLog()
    const connections = [1, 2].map((i) =>
      createRedis({ urls: url().split(','), name: `test-${i}`, log, clock: systemClock, random: systemRandom }))
    before(() => Promise.all(connections.map((redis) => redis.start())))
    after(() => Promise.all(connections.map((redis) => redis.stop())))
    inspectTransportContract(name, async () => {
      const [one, two] = connections.map((redis) => createRedisTransport({ redis, log }))
      return [one, two]
    })
  })
}
