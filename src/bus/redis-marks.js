import { sourceMark } from '../redis/keys.js'
import { META_TTL } from './redis-publish.js'

/**
 * Keeps in Redis how far each Kafka partition was ingested, for as long as documents keep their sequences.
 *
 * @param {{ redis: Pick<import('../redis/client.js').RedisConnection, 'client'> }} dependencies
 * @returns {import('../ingest/marks.js').MarkStore}
 */
export const createRedisMarks = ({ redis: { client } }) => ({
  read: (sources) => Promise.all(sources.map((source) => client.get(sourceMark(source)))),
  write: (marks) => Promise.all(marks.map(([source, mark]) => client.set(sourceMark(source), mark, 'EX', META_TTL)))
})
