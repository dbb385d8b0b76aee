import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createLoopbackUplink } from '../../src/services/uplink/loopback.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createDocumentsUplink } from '../../packages/demo/documents/uplink.js'
import * as inkcast from '../../src/operate/roles/demo-parts.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testPublisher } from '../helpers/publisher.js'
import { storeRedis } from '../helpers/store-redis.js'
import { uplinkContract } from './uplink.js'

/**
 * @typedef {Pick<Parameters<typeof createDocumentsUplink>[1], 'bus'>} Parts
 * @param {(parts: Parts, loopback: Uplink) => Uplink} create
 */
const open = (create) => async (/** @type {import('node:test').TestContext} */ t) => {
  const { log } = recordingLog()
  const { redis } = await storeRedis(t)
  const metrics = createMetrics({ processMetrics: false })
  const bus = createRedisBus({ redis, log, metrics, clock: systemClock, random: systemRandom })
  await bus.start()
  /** @type {import('../../src/wire/publication.js').Publication[]} */
  const published = []
  const publisher = testPublisher({
    async publish (entries) {
      const results = await bus.publish(entries)
      published.push(...entries.flatMap(({ publication }, i) => results[i].duplicate ? [] : [publication]))
      return results
    }
  })
  const uplink = create({ bus }, createLoopbackUplink({ publisher, log }))
  await uplink.start()
  t.after(async () => {
    await uplink.stop()
    await bus.stop()
  })
  return { uplink, messages: async () => published.map(({ guid, ...rest }) => ({ guid: String(guid), ...rest })) }
}

/** @typedef {import('../../src/log/publish/uplink.js').Uplink} Uplink */

uplinkContract('loopback', open((_, loopback) => loopback))
uplinkContract('documents of the demo', open((parts, uplink) => createDocumentsUplink(inkcast, {
  uplink, documents: { receive: async () => {}, load: async () => ({ document: {}, position: null }) }, ...parts
})))
