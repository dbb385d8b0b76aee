/**
 * With Redis Cluster a script that finds a document in another generation than its node's asks whether its slot has
 * moved, because the document has lost nothing then (publish-4.lua, open-2.lua). That is found out only then, and the
 * call is made again.
 *
 * @typedef {import('../redis/client.js').RedisConnection} RedisConnection
 */

const ASKED = /^GENERATION (\S+) (\S+)/

/** @param {RedisConnection} redis @returns {string} what such a script is called with first */
export const moveAsked = ({ isCluster }) => isCluster ? '?' : ''

/**
 * @param {RedisConnection} redis
 * @param {string} key one of the document
 * @param {Error} error what the call was rejected with
 * @returns {Promise<string>} what it is to be called with again
 * @throws the error, if it asked nothing
 */
export async function moveTold (redis, key, error) {
  const [, noted, current] = ASKED.exec(error.message) ?? []
  if (noted === undefined) throw error
  return redis.moveOf(key, noted, current)
}
