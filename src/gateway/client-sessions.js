/**
 * The text that a protocol keeps for a client that comes back, to any worker (mqtt/mqtt-sessions.js).
 *
 * @typedef {ReturnType<typeof createClientSessions>} ClientSessions
 *
 * @param {Pick<import('../redis/client.js').RedisConnection, 'client' | 'keys'>} redis
 */
export const createClientSessions = ({ client, keys }) => ({
  /** @param {string} uid @param {string} id of the client @returns {Promise<string | null>} */
  read: (uid, id) => client.get(keys.clientSession(uid, id)),

  /** @param {string} uid @param {string} id @param {string} text @param {number} seconds that it is kept */
  async write (uid, id, text, seconds) { await client.set(keys.clientSession(uid, id), text, 'EX', seconds) },

  /** @param {string} uid @param {string} id */
  async remove (uid, id) { await client.unlink(keys.clientSession(uid, id)) }
})
