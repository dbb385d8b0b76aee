import { Backoff } from '../common/backoff.js'

/**
 * No answer for so long, while one is expected: the connection is dead, ms. Longer than a slow fork or script takes.
 */
export const ANSWER_TIMEOUT = 2000
export const RECONNECT = { min: 50, max: 2000 }

/**
 * How every connection behaves. A command fails at once while there is no connection, within ANSWER_TIMEOUT if Redis
 * hangs, and with its connection if that breaks; it is never sent a second time behind our back, because a
 * publication without origin would then be there twice. What is to be tried again is tried again by whoever knows
 * what it is.
 *
 * @param {string} name shown in CLIENT LIST
 * @returns {import('ioredis').RedisOptions}
 */
export function connectionOptions (name) {
  return {
    connectionName: `inkcast-${name}`,
    lazyConnect: true,
    connectTimeout: ANSWER_TIMEOUT,
    socketTimeout: ANSWER_TIMEOUT,
    enableOfflineQueue: false,
    // 0 rejects what waits for its answer when the connection closes; without it ioredis forgets these commands
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    keepAlive: 10_000
  }
}

/** @returns {{ retryStrategy: () => number, reset: () => void }} spread over time, for ever */
export function reconnectForEver () {
  const backoff = new Backoff(RECONNECT)
  return { retryStrategy: () => backoff.next(), reset: () => backoff.reset() }
}

/**
 * @param {string} name
 * @param {string[]} urls
 * @param {() => number} retryStrategy
 * @returns {import('ioredis').ClusterOptions}
 */
export function clusterOptions (name, urls, retryStrategy) {
  const { username, password, protocol } = new URL(urls[0])
  const tls = protocol === 'rediss:'
  return {
    lazyConnect: true,
    clusterRetryStrategy: retryStrategy,
    // A node's commands wait for it only while it is being connected to, at most ANSWER_TIMEOUT; see refuseWhenDown.
    enableOfflineQueue: true,
    // 0: a command whose connection broke is not sent again
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: ANSWER_TIMEOUT,
    slotsRefreshInterval: 10_000,
    // a certificate names a host: keep it rather than resolve it to an address first
    ...(tls
      ? {
          dnsLookup: (/** @type {string} */ address, /** @type {(error: null, address: string) => void} */ callback) =>
            callback(null, address)
        }
      : {}),
    redisOptions: {
      ...connectionOptions(name),
      // nodes that are found later have no URL to take these from
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(tls ? { tls: {} } : {})
    }
  }
}
