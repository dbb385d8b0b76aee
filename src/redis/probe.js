import { createRedis } from './client.js'

/** What `publish` does: a script that writes a stream, and sharded pub/sub. */
const SCRIPT = 'redis.call(\'XADD\', KEYS[1], \'*\', \'a\', \'1\') redis.call(\'DEL\', KEYS[1]) return redis.call(\'SPUBLISH\', ' +
  'KEYS[1], \'\')'

/**
 * Tries Redis out, for `inkcast check`.
 *
 * @param {object} options
 * @param {string[]} options.urls
 * @param {string} [options.prefix] REDIS_PREFIX
 * @param {import('../base/common/log.js').Log} options.log
 * @param {number} options.timeout ms
 * @param {import('../base/common/clock.js').Clock} options.clock
 * @param {import('../base/common/random.js').Random} options.random
 * @returns {Promise<{ version: string, latencyMs: number, evicts: string | undefined }>} evicts: the policy by which
 *   Redis removes keys when its memory is full; undefined: it removes none
 * @throws {Error} with address and cause, or the command that Redis refuses
 */
export async function probeRedis ({ urls, prefix, log, timeout, clock, random }) {
  let waits = `Redis does not respond within ${timeout / 1000} s (REDIS_URL)`
  const redis = createRedis({
    urls, prefix, name: 'check', log, clock, random,
    onWaits: (message) => { waits = message.replace(/; trying again$/, '') }
  })
  const timer = clock.timer(timeout, () => { redis.stop() })
  let started = false
  try {
    await redis.start()
    started = true
    const begun = clock.monotonic()
    await redis.client.ping()
    const latencyMs = clock.monotonic() - begun
    await redis.client.eval(SCRIPT, 1, redis.keys.checkKey(random.uuid()))
    const info = await redis.client.info()
    const limit = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'
    return {
      version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown',
      latencyMs,
      evicts: limit > 0 && policy !== 'noeviction' ? policy : undefined
    }
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new Error(started || !message.startsWith('redis: stopped') ? message : waits, { cause: error })
  } finally {
    timer.stop()
    await redis.stop()
  }
}
