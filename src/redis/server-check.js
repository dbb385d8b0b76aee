import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Cluster } = require('ioredis')

/** The first version with sharded pub/sub. */
const LEAST_VERSION = 7

/**
 * @param {import('ioredis').Redis | Cluster} client connected
 * @param {import('../base/common/log.js').Log} log
 * @throws {Error} with the fix in its message
 */
export async function checkServer (client, log) {
  const isCluster = client instanceof Cluster
  for (const node of isCluster ? client.nodes('master') : [client]) {
    /** @type {string} */
    let info
    try {
      info = await node.info()
    } catch (error) {
      // proves nothing: the user may lack the permission for INFO, or a node of the cluster may be down
      log.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        'the version of redis could not be checked'
      )
      continue
    }
    if (/^(?:redis|server)_mode:sentinel/m.test(info)) {
      throw new Error(
        'redis: this is a Sentinel; REDIS_URL=redis+sentinel://host:port/name asks it for the master of that name'
      )
    }
    const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? '0'
    if (Number.parseInt(version) < LEAST_VERSION)
      throw new Error(`redis: version ${LEAST_VERSION} or later is needed (sharded pub/sub), this is ${version}`)
    if (!/^master_replid:\w/m.test(info))
      throw new Error('redis: this server reports no replication id (master_replid of INFO), which shows whether it may have lost data')
    if (!isCluster && /^(?:redis|server)_mode:cluster/m.test(info)) {
      throw new Error(
        'redis: this is a node of Redis Cluster; give the URLs of several of its nodes, comma separated (the same one twice if it has ' +
        'one address)'
      )
    }
  }
}
