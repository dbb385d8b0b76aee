import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedis } from '../../src/redis/client.js'
import { createStore } from '../../src/redis/store/store.js'
import { recordingLog } from './recording-log.js'

/**
 * A connection to a built-in store of this process, the way one-process mode has it. Both end with the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or fileScope() for a whole file
 * @param {object} [options]
 * @param {import('../../src/base/common/clock.js').Clock} [options.clock] of the store and the connection
 * @param {import('../../src/base/common/log.js').Log} [options.log]
 * @param {import('../../src/redis/store/store.js').Store} [options.store] of another connection; default: a new one
 */
export async function storeRedis (
  t, { clock = systemClock, log = recordingLog().log, store = createStore({ clock, random: systemRandom }) } = {}
) {
  t.after(() => store.close())
  const redis = createRedis({ urls: [], connect: () => store.connect(), name: 'test', log, clock, random: systemRandom })
  await redis.start()
  t.after(() => redis.stop())
  return { store, redis }
}
