import { sourceHealing, sourceMark } from '../redis/keys.js'
import { META_TTL } from './redis-publish.js'

/**
 * Keeps in Redis how far each Kafka partition was ingested, for as long as documents keep their sequences, and what was
 * done about what Redis has lost of it (decision 0094).
 *
 * @param {{ redis: Pick<import('../redis/client.js').RedisConnection, 'client' | 'scripts' | 'isCluster'> }}
 *   dependencies
 * @returns {import('../ingest/marks.js').MarkStore & import('../ingest/healing.js').HealingStore}
 */
export function createRedisMarks ({ redis: { client, scripts, isCluster } }) {
  /** @param {string} source @param {string} generation @param {string} state */
  const heal = async (source, generation, state) => {
    const [current, now, mark, age] = await scripts.heal(
      [sourceMark(source), sourceHealing(source)],
      [generation, state, META_TTL, META_TTL]
    )
    return { generation: current, state: now, mark, age }
  }
  return {
    read: (sources) => Promise.all(sources.map((source) => client.get(sourceMark(source)))),
    write: (marks) =>
      Promise.all(
        marks.map(([source, mark, generation]) =>
          scripts.mark([sourceMark(source), sourceHealing(source)], [mark, META_TTL, generation])
        )
      ),
    // a node of a cluster says nothing about the others
    heals: !isCluster,
    look: (source) => heal(source, '', ''),
    note: heal
  }
}
