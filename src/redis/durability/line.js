import { identityIn } from '../identity/identity.js'
import { ANSWER_TIMEOUT, connectionOptions } from '../options.js'
import { ReconnectingConnection } from '../reconnecting-connection.js'
import { defineScripts } from '../scripts.js'
import { ONE_ATTEMPT } from '../sentinel/options.js'

/**
 * A connection that a write and its wait share, and the generation of the server behind it.
 *
 * @typedef {object} Place
 * @property {import('ioredis').Redis} redis
 * @property {import('../scripts.js').Scripts} scripts over this connection
 * @property {string} generation
 *
 * @typedef {object} Waiter
 * @property {Place} place of its write
 * @property {string} key that it wrote
 * @property {boolean} settled
 * @property {(error?: import('../../base/common/errors.js').InkcastError) => void} settle
 */

/** A connection to one node of Redis for writes and for the wait for them. Reconnects without a limit. */
export class Line {
  #connection
  /** @type {Place | undefined} */
  #place
  /** While Redis answers nothing else on it. */
  isWaiting = false
  /** Resolves when all writes before the last wait were executed. @type {Promise<unknown>} */
  executed = Promise.resolve()
  /** Writes on it to wait for. @type {Waiter[]} */
  waiters = []

  /**
   * @param {object} options
   * @param {string} options.nodeKey
   * @param {Pick<import('../client.js').RedisConnection, 'topology' | 'track'>} options.redis
   * @param {string} options.name
   * @param {number} options.blocks longest time of a wait, ms
   * @param {import('../reconnecting-connection.js').Sources} sources
   */
  constructor ({ nodeKey, redis: { topology, track }, name, blocks }, sources) {
    this.#connection = new ReconnectingConnection({
      open: () => topology.connect(nodeKey, {
        ...connectionOptions(name), ...ONE_ATTEMPT, socketTimeout: blocks + ANSWER_TIMEOUT
      }),
      prepare: async (redis) => {
        track(redis)
        const generation = await generationOf(redis)
        this.#place = { redis, scripts: defineScripts(redis), generation }
      },
      onDown: () => { this.#place = undefined }
    }, sources)
    this.begun = this.#connection.start()
  }

  /** Where a write goes now; undefined: there is no connection. */
  get place () { return this.#place?.redis === this.#connection.redis ? this.#place : undefined }

  /**
   * @param {(redis: import('ioredis').Redis) => Promise<unknown>} wait for the writes of this connection
   * @returns {Promise<{ reply: unknown, place: Place }>} place: after the wait
   */
  async wait (wait) {
    const { place } = this
    if (place === undefined) throw new Error('redis: not connected')
    const { redis } = place
    this.isWaiting = true
    try {
      this.executed = redis.ping().catch(() => {})
      const [reply, generation] = await Promise.all([wait(redis), generationOf(redis)])
      if (generation !== place.generation) this.#place = { ...place, generation }
      return { reply, place: { ...place, generation } }
    } finally {
      this.isWaiting = false
    }
  }

  reconnect () { this.#connection.reconnect() }

  close () { this.#connection.stop() }
}

/** @param {import('ioredis').Redis} redis @returns {Promise<string>} */
async function generationOf (redis) {
  const { generation } = identityIn(await redis.info('replication'))
  if (generation === undefined) throw new Error('redis: this is not a master')
  return generation
}
