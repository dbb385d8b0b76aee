import { systemClock as clock } from '../../../base/common/clock.js'
import { systemRandom as random } from '../../../base/common/random.js'
import { IN_MEMORY } from '../../roles/in-memory.js'
import { probeRedis } from '../../../redis/probe.js'
import { findingsOf } from './finding.js'

/** ms */
const TIMEOUT = 5000
/** Each publication waits for one answer, ms. */
const SLOW = 10

const { ok, warning, error } = findingsOf('redis')

/**
 * @param {import('../../../config/load.js').Config} config
 * @param {import('../../../base/common/log.js').Log} log
 * @returns {Promise<import('./finding.js').Finding[]>}
 */
export async function checkRedis ({ redis: { urls, prefix }, production }, log) {
  // reported with the settings
  if (urls === undefined) return []
  if (urls.length === 0) {
    return production
      ? [warning(IN_MEMORY.text, IN_MEMORY.todo)]
      : [ok('not used: everything is in the memory of one process')]
  }
  try {
    const { version, latencyMs, evicts } = await probeRedis({ urls, prefix, log, timeout: TIMEOUT, clock, random })
    return [
      ok(`version ${version}, answers in ${latencyMs.toFixed(1)} ms, allows scripts and sharded pub/sub`),
      ...(evicts === undefined
        ? []
        : [error(
            `Redis removes keys when its memory is full (maxmemory-policy ${evicts}), and an evicted log is a lost log`,
            'redis-cli CONFIG SET maxmemory-policy noeviction, and in redis.conf'
          )]),
      ...(latencyMs > SLOW
        ? [warning(`Redis takes ${latencyMs.toFixed(1)} ms to answer`, 'place it nearer: every publication waits for it')]
        : [])
    ]
  } catch (wrong) {
    return [error(
      /** @type {Error} */ (wrong).message,
      'start Redis, or correct REDIS_URL: address, port, name of the master (redis+sentinel://), TLS (rediss://), user and password, ' +
      'firewall'
    )]
  }
}
