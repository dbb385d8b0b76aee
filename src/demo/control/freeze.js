import { within } from '../../common/wait.js'
import { createRedis } from '../../redis/client.js'

/**
 * Freezes Redis with its own command: `CLIENT PAUSE` suspends the commands of all clients for a time, and then goes on
 * by itself. It needs no access to the server's machine, and nothing is lost in Redis.
 */

/** For Redis to be there before, and after the pause, ms. */
const PATIENCE = 10_000
const EVERY = 20

/**
 * @param {object} settings
 * @param {readonly string[]} settings.urls
 * @param {number} settings.pause ms
 * @param {import('../../common/log.js').Log} settings.log
 * @param {import('../../common/clock.js').Clock} settings.clock
 * @param {import('../../common/random.js').Random} settings.random
 * @returns {Promise<string | null>} null when Redis answers again, else why not
 */
export async function freezeRedis ({ urls, pause, log, clock, random }) {
  const redis = createRedis({ urls: [...urls], log, name: 'demo', clock, random })
  try {
    const started = redis.start().then(() => null, (error) => error.message)
    const problem = await within(started, PATIENCE, 'Redis is unavailable', clock)
    if (problem !== null) return problem
    const { client } = redis
    const nodes = 'nodes' in client ? client.nodes('master') : [client]
    try {
      await Promise.all(nodes.map((node) => node.client('PAUSE', pause)))
    } catch (error) {
      return `Redis refuses CLIENT PAUSE: ${/** @type {Error} */ (error).message}`
    }
    const deadline = clock.monotonic() + pause + PATIENCE
    for (;;) {
      // while it is frozen, each attempt fails after a time
      const answered = await Promise.all(nodes.map((node) => node.ping())).then(() => true, () => false)
      if (answered) return null
      if (clock.monotonic() > deadline) return 'Redis does not answer again'
      await clock.sleep(EVERY)
    }
  } finally {
    await redis.stop()
  }
}
