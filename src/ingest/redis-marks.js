import { META_TTL } from '../log/bus/redis-publish.js'

/**
 * Keeps the marks of Kafka partitions in Redis, for as long as documents keep their sequences, and the state of
 * healing: whether lost records of a partition were published again (decision 0094).
 *
 * @param {{ redis: Pick<import('../redis/client.js').RedisConnection, 'client' | 'scripts' | 'keys' | 'isCluster'> }}
 *   dependencies
 * @returns {import('./marks.js').MarkStore & import('./healing.js').HealingStore}
 */
export function createRedisMarks ({ redis: { client, scripts, keys, isCluster } }) {
  /** @param {string} source @param {string} generation @param {string} state */
  const heal = async (source, generation, state) => {
    const [current, now, mark, age] = await scripts.heal(
      [keys.sourceMark(source), keys.sourceHealing(source)],
      [generation, state, META_TTL, META_TTL]
    )
    return { generation: current, state: now, mark, age }
  }
  return {
    read: (sources) => Promise.all(sources.map((source) => client.get(keys.sourceMark(source)))),
    write: (marks) =>
      Promise.all(
        marks.map(([source, mark, generation]) =>
          scripts.mark([keys.sourceMark(source), keys.sourceHealing(source)], [mark, META_TTL, generation])
        )
      ),
    // with a cluster the data of one node proves nothing about other nodes
    heals: !isCluster,
    look: (source) => heal(source, '', ''),
    note: heal
  }
}
