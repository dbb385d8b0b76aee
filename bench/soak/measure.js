/**
 * One sample of everything that must not grow.
 */
import { ENDED, keyGroup } from './keys.js'

/**
 * @typedef {object} Sample
 * @property {number} at minutes since the load began; before it: negative
 * @property {'empty' | 'load' | 'end'} phase
 * @property {number} connections of the clients
 * @property {import('./processes.js').Reading[]} processes
 * @property {Record<string, number>} keys of Redis, by group
 * @property {{ memory: number, clients: number, channels: number, lasting: number }} redis memory: bytes; channels:
 *   subscriptions of all kinds; lasting: keys that never expire, without the
 *   list of ended workers
 * @property {Record<string, number>} gauges of the server's metrics, added up over their labels
 * @property {number} series of the server's metrics
 * @property {number} lag records of Kafka that are not ingested
 */

const COUNT = 1000

/**
 * @param {object} options
 * @param {{ pid: number, metrics: () => Promise<string> }} options.cluster
 * @param {import('./processes.js').Probes} options.probes
 * @param {import('ioredis').Redis} options.redis
 */
export function createMeasure ({ cluster, probes, redis }) {
  async function countKeys () {
    /** @type {Record<string, number>} */
    const groups = {}
    let lasting = 0
    // a key may be listed twice
    const seen = new Set()
    for (let cursor = '0'; ;) {
      const [next, keys] = await redis.scan(cursor, 'COUNT', COUNT)
      const fresh = keys.filter((key) => !seen.has(key))
      for (const key of fresh) {
        seen.add(key)
        groups[keyGroup(key)] = (groups[keyGroup(key)] ?? 0) + 1
      }
      const times = await redis.pipeline(fresh.map((key) => ['ttl', key])).exec()
      lasting += fresh.filter((key, i) => times?.[i]?.[1] === -1 && keyGroup(key) !== ENDED).length
      cursor = next
      if (cursor === '0') break
    }
    return { groups, lasting }
  }

  /**
   * @param {Pick<Sample, 'at' | 'phase' | 'connections'>} where
   * @returns {Promise<Sample>}
   */
  return async function measure (where) {
    const processes = await probes.read(cluster.pid)
    const { gauges, series } = readMetrics(await cluster.metrics())
    const info = await redis.info()
    const { groups, lasting } = await countKeys()
    const [sharded, plain] = /** @type {string[][]} */ (
      await Promise.all([redis.call('PUBSUB', 'SHARDCHANNELS'), redis.call('PUBSUB', 'CHANNELS')])
    )
    return {
      ...where,
      processes,
      keys: groups,
      redis: {
        memory: Number(/used_memory:(\d+)/.exec(info)?.[1]),
        clients: Number(/connected_clients:(\d+)/.exec(info)?.[1]),
        channels: sharded.length + plain.length + Number(/pubsub_patterns:(\d+)/.exec(info)?.[1] ?? 0),
        lasting
      },
      gauges,
      series,
      lag: gauges.inkcast_kafka_lag ?? 0
    }
  }
}

/**
 * @param {string} text in the format of Prometheus
 * @returns {{ gauges: Record<string, number>, series: number }} gauges: without the quantiles of a summary
 */
export function readMetrics (text) {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name, type]))
  /** @type {Record<string, number>} */
  const gauges = {}
  let series = 0
  for (const [, name, value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)$/gm)) {
    series++
    if (types.get(name) === 'gauge') gauges[name] = (gauges[name] ?? 0) + Number(value)
  }
  return { gauges, series }
}
