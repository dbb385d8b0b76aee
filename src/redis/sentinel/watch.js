import { Redis } from 'ioredis'
import { Backoff } from '../../common/backoff.js'
import { RECONNECT, connectionOptions } from '../options.js'

/**
 * Hears of failovers: a Sentinel publishes `+switch-master` some seconds before it demotes a master that still runs,
 * which takes writes until then, and they are lost. One connection to one Sentinel; the next one if it breaks.
 */
const CHANNEL = '+switch-master'
/** Interval of pings, ms: without them a Sentinel that is gone would not be noticed. */
const PING_INTERVAL = 5000

/**
 * @param {object} dependencies
 * @param {import('../../config/redis-url.js').SentinelUrl} dependencies.url
 * @param {string} dependencies.name shown in CLIENT LIST
 * @param {() => void} dependencies.onSwitch the master may be another one: after a failover, and after a time without a
 *   connection
 */
export function createSentinelWatch ({ url, name, onSwitch }) {
  const { sentinels, sentinelUsername: username, sentinelPassword: password, tls } = url
  const backoff = new Backoff(RECONNECT)
  let index = Math.floor(Math.random() * sentinels.length)
  /** @type {Redis | undefined} */
  let connection
  /** @type {NodeJS.Timeout | undefined} */
  let retrying
  let missed = false
  let stopped = false
  const pinging = setInterval(() => { connection?.ping().catch(() => {}) }, PING_INTERVAL).unref()

  async function connect () {
    index = (index + 1) % sentinels.length
    const opened = new Redis({
      ...connectionOptions(`${name}-sentinel`), ...sentinels[index], username, password, ...(tls ? { tls: {} } : {}),
      enableReadyCheck: false, retryStrategy: null
    })
    connection = opened
    opened.on('error', () => {}) // a close follows
    opened.on('close', () => { if (connection === opened) retry() })
    opened.on('message', (_channel, /** @type {string} */ message) => {
      if (message.split(' ', 1)[0] === url.name) onSwitch()
    })
    try {
      await opened.connect()
      await opened.subscribe(CHANNEL)
      backoff.reset()
      if (missed) onSwitch()
      missed = false
    } catch {
      opened.disconnect()
    }
  }

  function retry () {
    connection = undefined
    missed = true
    if (!stopped) retrying ??= setTimeout(() => {
      retrying = undefined
      connect()
    }, backoff.next()).unref()
  }

  return {
    start () { connect() },
    stop () {
      stopped = true
      clearTimeout(retrying)
      clearInterval(pinging)
      connection?.disconnect()
    }
  }
}
