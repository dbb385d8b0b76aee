/** One command in this many is measured: a measurement costs as much as the rest. A power of 2. */
const SAMPLED = 16
/** Commands that wait on purpose. */
const WAITING = new Set(['wait', 'waitaof'])
/** Codes of replies that are labels; a script or module may invent others. */
const CODES = new Set([
  'ASK', 'BUSY', 'CLUSTERDOWN', 'CROSSSLOT', 'ERR', 'GENERATION', 'HEALING', 'LOADING', 'MASTERDOWN', 'MISCONF', 'MOVED',
  'NOAUTH', 'NOPERM', 'NOREPLICAS', 'NOSCRIPT', 'OOM', 'READONLY', 'TRYAGAIN', 'UNHEALED', 'WRONGPASS', 'WRONGTYPE'
])

/**
 * @typedef {import('./metrics.js').Metrics} Metrics
 * @typedef {Pick<Metrics, 'redis_commands' | 'redis_command_errors' | 'redis_command_seconds' | 'redis_reconnects' |
 *   'redis_commands_pending' | 'redis_connections' | 'onCollect'>} RedisMetrics
 * @typedef {{ name: string, args: any[], promise: Promise<unknown> }} Command of ioredis
 *
 * @typedef {ReturnType<typeof createRedisClientMetrics>} RedisClientMetrics
 */

/**
 * Counts what the clients of Redis do. `sent` is called with each command, so it does little.
 *
 * @param {object} dependencies
 * @param {RedisMetrics} dependencies.metrics
 * @param {ReadonlyMap<string, string>} dependencies.scripts names by SHA
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createRedisClientMetrics ({ metrics, scripts, clock }) {
  let sent = 0
  /**
   * Commands since the last collection, by name, or SHA of a script.
   * @type {Map<string, { command: string, count: number }>}
   */
  const tallies = new Map()
  metrics.onCollect(() => {
    for (const tally of tallies.values()) {
      metrics.redis_commands.inc({ command: tally.command }, tally.count)
      tally.count = 0
    }
  })

  /** @param {Command} command @param {string} key */
  function newTally ({ name }, key) {
    const tally = { command: name === 'evalsha' ? scripts.get(key) ?? name : name.toLowerCase(), count: 0 }
    tallies.set(key, tally)
    return tally
  }

  return {
    /** @param {Command} command about to be sent: ioredis may rename it while it is written */
    sent (command) {
      const key = command.name === 'evalsha' ? command.args[0] : command.name
      const tally = tallies.get(key) ?? newTally(command, key)
      tally.count++
      if ((++sent & (SAMPLED - 1)) !== 0 || WAITING.has(tally.command)) return
      const began = clock.monotonic()
      command.promise.then(
        () => metrics.redis_command_seconds.observe((clock.monotonic() - began) / 1000),
        () => {} // counted by `failed`
      )
    },

    /** @param {unknown} error of a command */
    failed (error) {
      // ioredis names its library to each server with CLIENT SETINFO, which Redis 7.0 does not know
      if (/** @type {{ command?: { name?: string } } | undefined} */ (error)?.command?.name === 'client') return
      metrics.redis_command_errors.count(reasonOf(error))
    },

    /** @param {'commands' | 'subscriber' | 'rooms'} connection that is established again */
    reconnected (connection) { metrics.redis_reconnects.count(connection) },

    /** @param {() => { pending: number, commands: number, subscriber: number }} read pending commands, connections */
    onCollect (read) {
      metrics.onCollect(() => {
        const { pending, commands, subscriber } = read()
        metrics.redis_commands_pending.set(pending)
        metrics.redis_connections.set({ connection: 'commands' }, commands)
        metrics.redis_connections.set({ connection: 'subscriber' }, subscriber)
      })
    }
  }
}

/** @param {unknown} error @returns {string} */
function reasonOf (error) {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return 'connection'
  const code = error.message.split(' ', 1)[0]
  return CODES.has(code) ? code : 'other'
}
