import { Backoff } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { MAX_EXPIRY } from './connect.js'
import { openAgain } from './subscribe.js'

/**
 * Sessions that outlast their connection (MQTT 5, 4.1): the subscriptions of a client, and for each document the
 * position after which it has not acknowledged everything. Records are not stored: the log has them. A session is in
 * Redis, so every worker can continue it.
 *
 * @typedef {import('./mqtt-connection.js').MqttConnection} MqttConnection
 * @typedef {import('./subscribe.js').Topic} Topic
 *
 * @typedef {object} Open session of an open connection
 * @property {number} expiry s after its end; 0: it is continued for the last time
 * @property {number} writtenAt monotonic ms
 */

/**
 * Interval at which sessions are written whose records were acknowledged, ms: after a crash, or when another connection
 * of the client takes over, records of this time come twice.
 */
const WRITE_EVERY = 5000
/** Sessions written in one turn of the event loop. */
const BATCH = 100
/** Time after which an open session is written although nothing has changed, ms: Redis must not forget it. */
const RENEW_AFTER = MAX_EXPIRY * 1000 / 2
/** Looks for the claim of a connection before its SUBACK, with backoff: about a second. */
const CLAIM_TRIES = 5

export class MqttSessions {
  /** @type {Map<MqttConnection, Open>} bounded by the connections */
  #open = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #store
  #context
  /** Writes in progress, which a stop waits for. */
  writing = 0

  /**
   * @param {import('../client-sessions.js').ClientSessions} store
   * @param {import('./subscribe.js').Context} context
   */
  constructor (store, context) {
    this.#store = store
    this.#context = context
  }

  /**
   * Finds the session of a client that connects, or ends it.
   * @param {string} uid
   * @param {import('./connect.js').Wish} wish
   * @param {boolean} anonymous the user is another one after each reconnect
   * @returns {Promise<Topic[] | null>} null: there is none
   */
  async find (uid, { client, clean, assigned }, anonymous) {
    if (anonymous || assigned) return null
    const finding = clean ? this.#store.drop(uid, client).then(() => null) : this.#store.read(uid, client)
    const text = await finding.catch((error) => {
      this.#context.metrics.bus_errors.inc({ operation: 'session' })
      this.#context.log.debug({ err: error }, 'a session of MQTT was not read or ended')
      throw new InkcastError('unavailable')
    })
    return text === null ? null : JSON.parse(text)
  }

  /**
   * Each session is a key in Redis: the budget of documents that a user sends to bounds them.
   * @param {MqttConnection} connection admitted
   * @param {number} expiry that the client asks for, s
   * @param {boolean} isNew
   * @returns {number} granted
   * @throws {InkcastError} rate_limited: CONNACK of version 3.1.1 cannot say that there is no session
   */
  grant (connection, expiry, isNew) {
    if (expiry === 0 || connection.identity.anonymous) return 0
    try {
      if (isNew) connection.beginsSending()
      return expiry
    } catch (error) {
      if (connection.offer.version === 4) throw error
      return 0
    }
  }

  /**
   * Keeps the session of a connection from now on, and continues it.
   * @param {MqttConnection} connection
   * @param {number} expiry granted, s
   * @param {Topic[] | null} topics
   */
  begin (connection, expiry, topics) {
    if (expiry > 0 || topics !== null) {
      this.#open.set(connection, { expiry, writtenAt: 0 })
      connection.unsaved = true
      this.#timer ??= this.#context.clock.every(WRITE_EVERY, () => this.#writeChanged()).unref()
    }
    if (topics === null) return
    // its time of before may end sooner than it is written
    this.#store.prolong(connection, MAX_EXPIRY).catch(() => {})
    openAgain(connection, topics, this.#context).catch((error) =>
      this.#context.log.error({ err: error }, 'a session of MQTT was not continued'))
  }

  /** @param {MqttConnection} connection @returns {boolean} whether it has a session that outlasts it */
  has (connection) { return (this.#open.get(connection)?.expiry ?? 0) > 0 }

  /**
   * A subscription has changed: a client that has its SUBACK will not subscribe again.
   * @param {MqttConnection} connection
   * @returns {Promise<void>} resolves when Redis has its session, or has failed: then it is written later
   */
  async save (connection) {
    const open = this.#open.get(connection)
    if (open === undefined || await this.#keep(connection, open) !== false) return
    // until its claim to the client id has arrived, the session is that of the connection before
    if (await this.#hasClaimed(connection) && this.#open.get(connection) === open) await this.#keep(connection, open)
  }

  /** @param {MqttConnection} connection @returns {Promise<boolean>} false: not within about a second */
  async #hasClaimed (connection) {
    const { clock, random } = this.#context
    const backoff = new Backoff({ random })
    while (connection.claimedAt === 0 && connection.open && backoff.tries < CLAIM_TRIES)
      await clock.sleep(backoff.next())
    return connection.claimedAt > 0
  }

  /** @param {MqttConnection} connection @param {Open} open @returns {Promise<unknown>} as of `#follow` */
  #keep (connection, open) {
    connection.unsaved = false
    open.writtenAt = this.#context.clock.monotonic()
    // longer than until the next renewal, also if the client asks for less [MQTT5-4.1.0-1]
    return this.#write(connection, MAX_EXPIRY)
  }

  /**
   * The connection ends: to be called while its documents are open.
   * @param {MqttConnection} connection
   * @param {number} [expiry] of a DISCONNECT, s
   */
  end (connection, expiry) {
    const open = this.#open.get(connection)
    if (open === undefined) return
    this.#open.delete(connection)
    if (this.#open.size === 0) {
      this.#timer?.stop()
      this.#timer = undefined
    }
    // the connection that replaces it has the session
    if (connection.endCode === 'replaced') return
    const seconds = Math.min(expiry ?? open.expiry, MAX_EXPIRY)
    if (seconds > 0) this.#write(connection, seconds)
    else this.#follow(this.#store.remove(connection))
  }

  /** @param {number} [began] of this round, monotonic ms: each session is tried once in it, also if the writes fail */
  #writeChanged (began = this.#context.clock.monotonic()) {
    let count = 0
    for (const [connection, open] of this.#open) {
      if (open.writtenAt >= began || (!connection.unsaved && open.writtenAt > began - RENEW_AFTER)) continue
      if (count++ === BATCH) return void this.#context.clock.soon(() => this.#writeChanged(began))
      this.#keep(connection, open)
    }
  }

  /** @param {MqttConnection} connection @param {number} seconds @returns {Promise<unknown>} as of `#follow` */
  #write (connection, seconds) {
    const { feeds, userLogs } = this.#context
    const topics = [...connection.subscriptions()].map(([topic, subscription]) => {
      const { qos, noLocal } = subscription
      const place = qos === 0 ? undefined : connection.placeIn(subscription, feeds, userLogs)
      return [topic, qos, noLocal, place === undefined ? null : { ...place, ids: [...place.ids] }]
    })
    // a document is opened at its place, before topics of it that have none
    topics.sort((one, other) => Number(one[3] === null) - Number(other[3] === null))
    return this.#follow(this.#store.write(connection, JSON.stringify(topics), seconds), connection)
  }

  /**
   * @param {Promise<unknown>} written
   * @param {MqttConnection} [connection] whose session is written once more if it fails
   * @returns {Promise<unknown>} result; undefined: it has failed
   */
  async #follow (written, connection) {
    this.writing++
    try {
      const result = await written
      // it may not have its claim yet; one that was replaced ends soon
      if (result === false && connection !== undefined) connection.unsaved = true
      return result
    } catch (error) {
      this.#context.metrics.bus_errors.inc({ operation: 'session' })
      this.#context.log.debug({ err: error }, 'a session of MQTT was not written')
      if (connection !== undefined) connection.unsaved = true
      return undefined
    } finally {
      this.writing--
    }
  }
}
