import { groupBySlot, slotIn } from '../redis/hash-slot.js'

/** Sessions that one command ends, at most. */
const BATCH = 200

/**
 * The text that a protocol keeps for a client that comes back, to any worker (mqtt/mqtt-sessions.js). It belongs to the
 * connection that has the device (takeovers.js).
 *
 * @typedef {ReturnType<typeof createClientSessions>} ClientSessions
 * @typedef {{ id: string, uid: string, client: string | undefined, claimedAt: number }} Owner a connection
 *
 * @param {Pick<import('../redis/client.js').RedisConnection, 'client' | 'keys' | 'scripts' | 'isCluster'>} redis
 */
export function createClientSessions (redis) {
  const { client, keys, scripts } = redis
  /** Keys of sessions that are about to end. @type {Set<string>} */
  let ending = new Set()
  /** The command that ends each of them. @type {Promise<Map<string, Promise<unknown>>> | undefined} */
  let ended
  const endAll = () => {
    const calls = groupBySlot(ending, (key) => slotIn(redis, key), BATCH)
    ending = new Set()
    ended = undefined
    return new Map(calls.flatMap((call) => {
      const done = client.unlink(...call)
      return call.map((key) => [key, done])
    }))
  }

  /** @param {Owner} owner @param {string} text @param {number} seconds */
  const change = async ({ id, uid, client = '', claimedAt }, text, seconds) => await scripts.session(
    [keys.clientSession(uid, client), keys.userDevice(uid, client)], [id, claimedAt, text, seconds]
  ) === 1

  return {
    /** @param {string} uid @param {string} id of the client @returns {Promise<string | null>} */
    read: (uid, id) => client.get(keys.clientSession(uid, id)),

    /**
     * Ends the session of a client that connects. Those of clients that are admitted together end by one command, which
     * is sent before the callers go on. Each client waits for its own: a shard that is down refuses no others.
     * @param {string} uid @param {string} id of the client
     */
    async drop (uid, id) {
      const key = keys.clientSession(uid, id)
      ending.add(key)
      ended ??= Promise.resolve().then(endAll)
      await (await ended).get(key)
    },

    /** @param {Pick<Owner, 'uid' | 'client'>} owner @param {number} seconds that it is kept from now on */
    prolong: ({ uid, client: id = '' }, seconds) => client.expire(keys.clientSession(uid, id), seconds),

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
