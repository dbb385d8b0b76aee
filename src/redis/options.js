/**
 * Timeout of a reply, ms: after it the connection is closed. Longer than a slow fork or script.
 */
export const ANSWER_TIMEOUT = 2000
export const RECONNECT = { min: 50, max: 2000 }

/**
 * Options of every connection. A command fails at once while there is no connection, within ANSWER_TIMEOUT if Redis
 * hangs, and with its connection if that breaks. ioredis must never send a command again by itself: a publication
 * without an origin would be published twice. Retries are up to the caller, which knows whether they are safe.
 *
 * @param {string} name shown in CLIENT LIST
 * @param {number} [answerTimeout] ms
 * @returns {import('ioredis').RedisOptions}
 */
export function connectionOptions (name, answerTimeout = ANSWER_TIMEOUT) {
  return {
    connectionName: `inkcast-${name}`,
    lazyConnect: true,
    connectTimeout: answerTimeout,
    socketTimeout: answerTimeout,
    enableOfflineQueue: false,
    // 0 rejects commands without a reply when the connection closes; without it ioredis forgets these commands
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    keepAlive: 10_000
  }
}

/**
 * Of the connections for commands: `answer-limit.js` has their timeout.
 * @param {string} name
 * @param {number} [answerTimeout] ms
 * @returns {import('ioredis').RedisOptions}
 */
export const commandOptions = (name, answerTimeout) =>
  ({ ...connectionOptions(name, answerTimeout), socketTimeout: undefined })

/**
 * @param {string} name
 * @param {string[]} urls
 * @param {() => number} retryStrategy
 * @param {number} [answerTimeout] ms
 * @returns {import('ioredis').ClusterOptions}
 */
export function clusterOptions (name, urls, retryStrategy, answerTimeout = ANSWER_TIMEOUT) {
  const { username, password, protocol } = new URL(urls[0])
  const tls = protocol === 'rediss:'
  return {
    lazyConnect: true,
    clusterRetryStrategy: retryStrategy,
    // commands are queued only while their node is connecting, ANSWER_TIMEOUT at most; see refuseWhenDown
    enableOfflineQueue: true,
    // 0: commands are not sent again after their connection broke
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: answerTimeout,
    slotsRefreshInterval: 10_000,
    // a certificate names a host: keep it rather than resolve it to an address first
    ...(tls
      ? {
          dnsLookup: (/** @type {string} */ address, /** @type {(error: null, address: string) => void} */ callback) =>
            callback(null, address)
        }
      : {}),
    redisOptions: {
      ...commandOptions(name, answerTimeout),
      // nodes that are discovered later have no URL with these
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(tls ? { tls: {} } : {})
    }
  }
}
