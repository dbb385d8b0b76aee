/**
 * Maps channels to nodes, and connects to nodes.
 *
 * @typedef {object} Topology
 * @property {(slot: number) => string | undefined} nodeOf key of the node that has the hash slot; undefined: unknown
 * @property {(nodeKey: string) => boolean} has whether the node exists now
 * @property {(nodeKey: string, options: import('ioredis').RedisOptions) => import('ioredis').Redis | undefined} connect
 *   creates a connection that is not yet connected; undefined if the node is gone
 * @property {() => string[]} nodes keys of the nodes that have hash slots now
 * @property {(nodeKey: string) => import('ioredis').Redis | undefined} commands the node's connection for commands
 * @property {() => void} refresh reads the hash slots again, because some have moved
 * @property {(listener: () => void) => void} onChange called after each refresh
 * @property {boolean} single whether all channels may be named in one command
 * @property {() => void} stop
 */

/** Delay of a refresh, ms: requests within it share one. */
const REFRESH_PAUSE = 50

/**
 * @param {import('ioredis').Redis} client
 * @returns {Topology}
 */
export function singleTopology (client) {
  return {
    single: true,
    nodeOf: () => 'redis',
    has: () => true,
    connect: (_, options) => client.duplicate(options),
    nodes: () => ['redis'],
    commands: () => client,
    refresh () {},
    onChange () {},
    stop () {}
  }
}

/**
 * @param {import('ioredis').Cluster} client
 * @param {Pick<import('../base/common/clock.js').Clock, 'timer'>} clock
 * @returns {Topology}
 */
export function clusterTopology (client, clock) {
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let refreshing
  let stopped = false
  /** @param {string} nodeKey */
  const find = (nodeKey) => client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === nodeKey)

  return {
    single: false,
    nodeOf: (slot) => client.slots[slot]?.[0],
    has: (nodeKey) => find(nodeKey) !== undefined,
    connect: (nodeKey, options) => find(nodeKey)?.duplicate({ ...options, readOnly: false }),
    nodes: () => [...new Set(client.slots.map((keys) => keys?.[0]))].filter((key) => key !== undefined),
    commands: find,
    refresh () {
      // commands that end with their connection ask for it as well
      if (stopped) return
      refreshing ??= clock.timer(REFRESH_PAUSE, () => {
        refreshing = undefined
        client.refreshSlotsCache()
      })
    },
    onChange (listener) { client.on('refresh', listener) },
    stop () {
      stopped = true
      refreshing?.stop()
    }
  }
}
