/**
 * With Redis Cluster a document's generation may differ from that of its node because the hash slot has moved; then
 * the document is complete. publish.lua and open.lua reject such a call with a question; the process looks up
 * whether the slot has moved and repeats the call with the answer.
 *
 * @typedef {import('../redis/client.js').RedisConnection} RedisConnection
 */

const ASKED = /^GENERATION (\S+) (\S+)/

/** @param {RedisConnection} redis @returns {string} the script's argument in the first call */
export const moveAsked = ({ isCluster }) => isCluster ? '?' : ''

/**
 * @param {RedisConnection} redis
 * @param {string} key one of the document
 * @param {Error} error of the first call
 * @returns {Promise<string>} the script's argument in the second call
 * @throws the error, if it is not a question
 */
export async function moveTold (redis, key, error) {
  const [, noted, current] = ASKED.exec(error.message) ?? []
  if (noted === undefined) throw error
  return redis.moveOf(key, noted, current)
}
