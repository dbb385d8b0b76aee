import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedis } from '../../src/redis/client.js'

/**
 * A connection to Redis for tests in which Redis answers: it waits for a Redis that pauses on a busy machine.
 * @param {Omit<Parameters<typeof createRedis>[0], 'clock' | 'random'>} settings
 */
export const testRedis = (settings) =>
  createRedis({ answerTimeout: 60_000, ...settings, clock: systemClock, random: systemRandom })
