/**
 * The text that a protocol keeps for a client that comes back, to any worker (mqtt/mqtt-sessions.js). It belongs to the
 * connection that has the device (takeovers.js).
 *
 * @typedef {ReturnType<typeof createClientSessions>} ClientSessions
 * @typedef {{ id: string, uid: string, client: string | undefined, claimedAt: number }} Owner a connection
 *
 * @param {Pick<import('../redis/client.js').RedisConnection, 'client' | 'keys' | 'scripts'>} redis
 */
export function createClientSessions ({ client: redis, keys, scripts }) {
  /** @param {Owner} owner @param {string} text @param {number} seconds */
  const change = async ({ id, uid, client = '', claimedAt }, text, seconds) => await scripts.session(
    [keys.clientSession(uid, client), keys.userDevice(uid, client)], [id, claimedAt, text, seconds]
  ) === 1

  return {
    /** @param {string} uid @param {string} client id @returns {Promise<string | null>} */
    read: (uid, client) => redis.get(keys.clientSession(uid, client)),

    /** Ends the session of a client that connects. @param {string} uid @param {string} client id */
    async drop (uid, client) { await redis.unlink(keys.clientSession(uid, client)) },

    /**
     * @param {Owner} owner
     * @param {string} text
     * @param {number} seconds that it is kept
     * @returns {Promise<boolean>} false: a later connection of the client has it
     */
    write: (owner, text, seconds) => change(owner, text, seconds),

    /** @param {Owner} owner that ends its own session @returns {Promise<boolean>} as of `write` */
    remove: (owner) => change(owner, '', 0)
  }
}
