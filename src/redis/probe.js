import { Backoff, retry } from '../base/common/backoff.js'
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
  const ends = new AbortController()
  const timer = clock.timer(timeout, () => {
    ends.abort()
    redis.stop()
  })
  try {
    await redis.start()
    // a busy machine may lose a connection
    return await retry(() => measure(redis, { clock, random }), {
      signal: ends.signal,
      clock,
      backoff: new Backoff({ random }),
      retryable: (error) => /** @type {Error} */ (error).name !== 'ReplyError'
    })
  } catch (error) {
    throw ends.signal.aborted ? new Error(waits, { cause: error }) : error
  } finally {
    timer.stop()
    await redis.stop()
  }
}

/**
 * @param {import('./client.js').RedisConnection} redis
 * @param {Pick<Parameters<typeof createRedis>[0], 'clock' | 'random'>} sources
 */
async function measure ({ client, keys }, { clock, random }) {
  const begun = clock.monotonic()
  await client.ping()
  const latencyMs = clock.monotonic() - begun
  await client.eval(SCRIPT, 1, keys.checkKey(random.uuid()))
  const info = await client.info()
  const limit = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'
  return {
    version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown',
    latencyMs,
    evicts: limit > 0 && policy !== 'noeviction' ? policy : undefined
  }
}
