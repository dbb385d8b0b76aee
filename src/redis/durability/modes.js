/**
 * What a write waits for, by PUBLISH_WAIT.
 *
 * @typedef {'replicas' | 'fsync'} Mode
 *
 * @typedef {Pick<import('../../observe/metrics/metrics.js').Metrics, 'write_waits' | 'write_waits_pending' |
 *   'write_wait_seconds'>} DurabilityMetrics
 *
 * @typedef {object} Confirmation
 * @property {(client: import('ioredis').Redis, ms: number) => Promise<unknown>} wait for the connection's own writes
 * @property {(reply: unknown) => boolean} isDone
 * @property {string} missing why it is not done in time, and what to do
 */

/** @type {Readonly<Record<Mode, Confirmation>>} */
export const MODES = Object.freeze({
  replicas: {
    wait: (client, ms) => client.call('WAIT', '1', String(ms)),
    isDone: (reply) => Number(reply) >= 1,
    missing: 'no replica of Redis confirms writes in time (PUBLISH_WAIT=replicas): connect a replica, or restart it'
  },
  fsync: {
    wait: (client, ms) => client.call('WAITAOF', '1', '0', String(ms)),
    isDone: (reply) => Array.isArray(reply) && Number(reply[0]) >= 1,
    missing: 'Redis does not write its append-only file to disk in time (PUBLISH_WAIT=fsync): check the disk and appendfsync'
  }
})

export const NOT_CONNECTED = 'there is no connection to Redis'

/** Redis has answered in time that the writes are not safe yet. */
export class NotConfirmed extends Error {
  name = 'NotConfirmed'
}

/**
 * @param {Mode} mode
 * @param {unknown} error of a try
 * @returns {string} why nothing is confirmed, for people
 */
export function explain (mode, error) {
  if (error instanceof NotConfirmed) return error.message
  if (!(error instanceof Error) || error.name !== 'ReplyError') return NOT_CONNECTED
  return neverConfirms(mode, error, 'an earlier version') ?? `Redis refuses to confirm writes (${error.message})`
}

/**
 * @param {Mode} mode
 * @param {unknown} error of a try
 * @param {string} version of Redis
 * @returns {string | undefined} one sentence with the fix, if other settings or another Redis are needed; undefined:
 *   the error may pass
 */
export function neverConfirms (mode, error, version) {
  const message = error instanceof Error ? error.message : ''
  if (mode === 'fsync' && /^ERR unknown command/i.test(message)) {
    return `PUBLISH_WAIT=fsync needs Redis 7.2 or later (WAITAOF), this is ${version}: upgrade Redis, or set PUBLISH_WAIT=replicas or none`
  }
  if (mode === 'fsync' && /appendonly is disabled/i.test(message))
    return 'PUBLISH_WAIT=fsync needs the append-only file of Redis: set appendonly yes in redis.conf, or PUBLISH_WAIT=replicas or none'
  if (/^NOPERM/.test(message))
    return `PUBLISH_WAIT=${mode}: the Redis user lacks a permission of docs/operations/redis.md (${message})`
  return undefined
}

/** @param {import('ioredis').Redis | undefined} redis @returns {Promise<string>} */
export async function versionOf (redis) {
  const info = await redis?.info('server').catch(() => '') ?? ''
  return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'an unknown version'
}
