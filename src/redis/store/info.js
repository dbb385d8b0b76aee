/** The version of Redis whose commands, replies and errors these are. */
export const VERSION = '7.0.15'

/** @typedef {(store: import('./contract.js').Store) => Record<string, string | number>} Section */

/** The fields that inkcast and ioredis read. @type {Record<string, Section>} in the order of Redis */
const SECTIONS = {
  server: ({ runId }) => ({ redis_version: VERSION, redis_mode: 'standalone', run_id: runId }),
  memory: ({ keyspace, config: { maxmemory } }) =>
    ({ used_memory: keyspace.bytes, maxmemory, maxmemory_policy: 'noeviction' }),
  persistence: () => ({ loading: 0 }),
  stats: ({ keyspace }) => ({ expired_keys: keyspace.expired, evicted_keys: 0 }),
  replication: ({ replicationId }) => ({ role: 'master', master_replid: replicationId })
}

/**
 * @param {import('./contract.js').Store} store
 * @param {string[]} names of sections; none: all
 * @returns {string}
 */
export function info (store, names) {
  const wanted = names.map((name) => name.toLowerCase())
  const isWanted = (/** @type {string} */ name) => wanted.length === 0 || wanted.includes(name)
  return Object.entries(SECTIONS).filter(([name]) => isWanted(name)).map(([name, section]) =>
    `# ${name[0].toUpperCase()}${name.slice(1)}\r\n` +
    Object.entries(section(store)).map(([field, value]) => `${field}:${value}\r\n`).join('')).join('\r\n')
}
