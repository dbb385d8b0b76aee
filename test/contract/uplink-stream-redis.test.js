import { randomBytes } from 'node:crypto'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createStreamUplink } from '../../src/services/uplink/stream-uplink.js'
import { createRedisStream } from '../../src/services/uplink/stream/redis-stream.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { readAll } from '../helpers/uplink-stream.js'
import { streamContract } from './uplink-stream.js'
import { uplinkContract } from './uplink.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {{ groups: string[], limits?: { records: number, bytes: number } }} options
 */
async function open (t, url, options) {
  const { log } = recordingLog()
  const redis = testRedis({ urls: url.split(','), name: 'test', log })
  await redis.start()
  const stream = createRedisStream({
    redis, name: `uplink-${randomBytes(6).toString('hex')}`, ...options, clock: systemClock, random: systemRandom
  })
  t.after(() => redis.stop())
  return stream
}

for (const [name, url] of BACKENDS) {
  streamContract(name, (t, options) => open(t, url(), options))
  uplinkContract(`stream in ${name}`, async (t) => {
    const stream = await open(t, url(), { groups: ['one'] })
    const uplink = createStreamUplink({ stream, metrics: createMetrics({ processMetrics: false }) })
    return { uplink, messages: () => readAll(stream) }
  })
}
