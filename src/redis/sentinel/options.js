import { ANSWER_TIMEOUT, RECONNECT } from '../options.js'

/**
 * Redis behind Sentinel: each connection asks the Sentinels, one after the other, for the master, and connects to it if
 * that server says that it is one. After a failover the connection to the old master breaks, or is left
 * (identity/moved-address.js), and the next attempt asks again. The `failoverDetector` of ioredis is not used: it holds
 * a connection to each Sentinel, whose errors cannot be caught; watch.js holds one in all.
 *
 * `disconnect(true)` while ioredis asks the Sentinels ends the client for good: call it on a ready one only.
 *
 * @param {import('../../config/redis-url.js').SentinelUrl} url
 * @param {import('../../base/common/random.js').Random} random
 * @returns {import('ioredis').RedisOptions}
 */
export function sentinelOptions (url, random) {
  const { tls, sentinels, name, username, password, sentinelUsername, sentinelPassword, db } = url
  return {
    sentinels,
    name,
    role: 'master',
    username,
    password,
    db,
    sentinelUsername,
    sentinelPassword,
    // they have no socketTimeout
    sentinelCommandTimeout: ANSWER_TIMEOUT,
    // a number: without it ioredis gives up for ever when no Sentinel knows the master
    sentinelRetryStrategy: (attempts) =>
      Math.min(RECONNECT.min * 2 ** attempts, RECONNECT.max) * (0.5 + random.number() / 2),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {})
  }
}

/** An attempt that ioredis does not repeat: for connections whose owner tries again. */
export const ONE_ATTEMPT = Object.freeze({ retryStrategy: null, sentinelRetryStrategy: /** @type {any} */ (null) })

/**
 * Keeps why the Sentinels could not be used: the error that ioredis emits later does not always say it.
 * @param {import('ioredis').Redis} client
 * @param {string} name of the master
 * @returns {() => string | undefined} the last reason
 */
export function causeOfSentinels (client, name) {
  /** @type {string | undefined} */
  let cause
  client.on('ready', () => { cause = undefined })
  client.on('sentinelError', (/** @type {Error} */ { message }) => {
    if (/invalid reply: null$|No such master with that name/.test(message)) cause = `they know no master of the name ${name}`
    else if (/NOAUTH|WRONGPASS|NOPERM/.test(message))
      cause = `they refuse the password (sentinel_password in the URL): ${message}`
    else cause = message.replace(/^failed to connect to sentinel (\S+) because Connection is closed\.$/, 'no connection to $1')
  })
  return () => cause
}
