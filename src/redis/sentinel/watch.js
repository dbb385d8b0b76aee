import { createRequire } from 'node:module'
import { connectionOptions } from '../options.js'
import { ReconnectingConnection } from '../reconnecting-connection.js'
import { ONE_ATTEMPT } from './options.js'

const require = createRequire(import.meta.url)
const { Redis } = require('ioredis')

/**
 * Hears of failovers: a Sentinel publishes `+switch-master` some seconds before it demotes a master that still runs,
 * which takes writes until then, and they are lost. One connection to one Sentinel; the next one if it breaks.
 */
const CHANNEL = '+switch-master'

/**
 * @param {object} dependencies
 * @param {import('../../config/redis-url.js').SentinelUrl} dependencies.url
 * @param {string} dependencies.name shown in CLIENT LIST
 * @param {() => void} dependencies.onSwitch the master may be another one: after a failover, and after a time without a
 *   connection
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createSentinelWatch ({ url, name, onSwitch, clock, random }) {
  const { sentinels, sentinelUsername: username, sentinelPassword: password, tls } = url
  let index = Math.floor(random.number() * sentinels.length)
  let missed = false
  return new ReconnectingConnection({
    open () {
      index = (index + 1) % sentinels.length
      return new Redis({
        ...connectionOptions(`${name}-sentinel`), ...sentinels[index], username, password, ...(tls ? { tls: {} } : {}),
        enableReadyCheck: false, ...ONE_ATTEMPT
      }).on('message', (_channel, message) => { if (message.split(' ', 1)[0] === url.name) onSwitch() })
    },
    prepare: (redis) => redis.subscribe(CHANNEL),
    onUp () {
      if (missed) onSwitch()
      missed = false
    },
    onDown () { missed = true }
  }, { clock, random })
}
