/** The version of Redis whose commands, replies and errors these are. */
export const VERSION = '7.0.15'

/** @typedef {(store: import('./contract.js').Store) => Record<string, string | number>} Section */

/** @type {Record<string, Section>} in the order of Redis */
const SECTIONS = {
  server: ({ runId, startedAt, clock }) => {
    const seconds = Math.floor((clock.monotonic() - startedAt) / 1000)
    return {
      redis_version: VERSION,
      redis_mode: 'standalone',
      process_id: process.pid,
      run_id: runId,
      uptime_in_seconds: seconds,
      uptime_in_days: Math.floor(seconds / 86_400),
      executable: 'inkcast'
    }
  },
  clients: ({ connections, config: { maxclients } }) => {
    const pubsub = [...connections].filter(({ isSubscriber }) => isSubscriber).length
    return { connected_clients: connections.size, maxclients, blocked_clients: 0, pubsub_clients: pubsub }
  },
  memory: ({ keyspace, config: { maxmemory } }) =>
    ({ used_memory: keyspace.bytes, maxmemory, maxmemory_policy: 'noeviction' }),
  persistence: () => ({ loading: 0, aof_enabled: 0 }),
  stats: ({ counts: { connections, commands, rejected }, keyspace, pubsub }) => ({
    total_connections_received: connections,
    total_commands_processed: commands,
    rejected_connections: rejected,
    expired_keys: keyspace.expired,
    evicted_keys: 0,
    pubsub_channels: pubsub.channels('channels').length,
    pubsub_patterns: pubsub.patterns,
    pubsubshard_channels: pubsub.channels('shards').length
  }),
  replication: ({ replicationId }) => ({
    role: 'master',
    connected_slaves: 0,
    master_failover_state: 'no-failover',
    master_replid: replicationId,
    master_replid2: '0'.repeat(40),
    master_repl_offset: 0,
    second_repl_offset: -1
  }),
  cluster: () => ({ cluster_enabled: 0 }),
  keyspace: ({ keyspace: { size, volatileSize } }) => ({ db0: `keys=${size},expires=${volatileSize},avg_ttl=0` })
}

/**
 * @param {import('./contract.js').Store} store
 * @param {string[]} names of sections; none, `default`, `all` or `everything`: all
 * @returns {string}
 */
export function info (store, names) {
  const wanted = new Set(names.map((name) => name.toLowerCase()))
  const isAll = wanted.size === 0 || ['default', 'all', 'everything'].some((name) => wanted.has(name))
  return Object.entries(SECTIONS).filter(([name]) => isAll || wanted.has(name)).map(([name, section]) =>
    `# ${name[0].toUpperCase()}${name.slice(1)}\r\n` +
    Object.entries(section(store)).map(([field, value]) => `${field}:${value}\r\n`).join('')).join('\r\n')
}
