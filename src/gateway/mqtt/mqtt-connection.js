import { SmallMap } from '../../base/common/small-map.js'
import { happened } from '../../observe/metrics/points.js'
import { encodePacket } from '../../transport/mqtt/packets.js'
import { HEADER } from '../../wire/headers.js'
import { GATEWAY, documentTopic } from '../../wire/mqtt-topic.js'
import { ownPacket, packetIdIn, publishPacket, userProperties } from '../../wire/mqtt-message.js'
import { Connection } from '../connection.js'
import { Reason, disconnectOf } from './codes.js'
import { InFlight } from './in-flight.js'
import { Incoming } from './incoming.js'
import { NO_ID, formsOf } from './record-forms.js'

/**
 * The connection of an MQTT client (docs/devices.md). Records that it does not acknowledge in time stay in the log: its
 * documents fall behind, and the missed records follow from there.
 *
 * @typedef {import('../../documents/delivery/delivery.js').Delivery} Delivery
 *
 * @typedef {object} Subscription
 * @property {0 | 1} qos granted
 * @property {boolean} noLocal messages of this client are left out
 * @property {string} [guid]
 * @property {boolean} [retained] it is new: its first records come with the flag RETAIN
 * @property {number} [retainedUpTo] offset of the last of these records, if some come when there is room
 * @property {Place} [place] where it continues
 *
 * @typedef {import('../../wire/position.js').Position & { sent: number, ids: Map<number, number> }} Place the client
 *   has acknowledged everything up to a position, and of the records up to the offset `sent` all but those with packet
 *   ids here, by offset
 *
 * @typedef {object} Offer what the client says in CONNECT
 * @property {import('../../transport/mqtt/packets.js').Version} version
 * @property {number} receiveMaximum records that it takes before it acknowledges the first
 * @property {number} maxPacket bytes; 0: any
 * @property {boolean} explains whether it wants reasons in words
 * @property {import('./kept-packets.js').KeptPackets} [kept] packets for all clients that say the same
 */

/** Events that change nothing of a session. */
const KEEPS_SESSION = new Set(['auth:expiring', 'gateway:draining'])

/** @returns {Place} in no log: a client that continues there loads the document */
const placeInNone = () => ({ epoch: 'resync', offset: 0, sent: 0, ids: new Map() })

export class MqttConnection extends Connection {
  /** By topic; undefined before the first one. @type {SmallMap<string, Subscription> | undefined} */
  #subscriptions
  /**
   * Documents that it sends to, the first one first.
   * @type {Map<string, { hasMessage: boolean }> | undefined}
   */
  #unopened
  /** Records that are not acknowledged; undefined before the first one. @type {InFlight | undefined} */
  #flight
  /**
   * Least offset of records that came while it was closing, by log.
   * @type {Map<string | undefined, number> | undefined}
   */
  #unsent
  /**
   * Logs whose loss it has announced: the client may not have read this until it acknowledges a later record.
   * @type {Set<string | undefined> | undefined}
   */
  #announced
  /** @type {Incoming | undefined} */
  #incoming
  /** Topics that get this number of newest records when there is room. @type {Map<string, number> | undefined} */
  newestLater
  /** As of takeovers.js. */
  claimedAt = 0
  /** Whether the gateway sends it to another worker. */
  moves = false
  /**
   * Whether its session has changed since it was written (mqtt-sessions.js), also by records that it does not get: the
   * log may not have a position of long ago any more.
   */
  unsaved = false

  /**
   * @param {import('../../transport/mqtt/mqtt-input.js').MqttSession} session
   * @param {import('../connection.js').Identity} identity
   * @param {string} client id
   * @param {import('../connection.js').ConnectionContext} context
   * @param {Offer} offer
   */
  constructor (session, identity, client, context, offer) {
    super(session, identity, 'json', client, context)
    this.offer = offer
    // a PUBACK needs nothing of the application
    this.acknowledges = true
  }

  get #inFlight () { return this.#flight ??= new InFlight(this.offer.receiveMaximum, this) }

  /** Messages of the client that are not answered yet. */
  get incoming () { return this.#incoming ??= new Incoming(this) }

  /** [MQTT-3.1.4-2] [MQTT5-3.1.4-3] @override */
  get exclusive () { return true }

  /** @override */
  get open () { return this.conn.readyState === 'open' }

  /** Clients of MQTT send without a subscription. @override @param {string} guid */
  unopened (guid) {
    const known = this.#unopened?.get(guid)
    if (known !== undefined) return known
    this.#unopened ??= new Map()
    if (this.#unopened.size >= this.context.maxDocuments) this.#unopened.delete(this.#unopened.keys().next().value ?? '')
    const document = { hasMessage: false }
    this.#unopened.set(guid, document)
    return document
  }

  // Subscriptions

  /** @param {string} topic */
  subscription (topic) { return this.#subscriptions?.get(topic) }

  /** @returns {Iterable<[string, Subscription]>} */
  subscriptions () { return this.#subscriptions ?? [] }

  /** Of each document its records and one kind of signals, `user` and `gateway`. */
  get maxTopics () { return 2 * this.context.maxDocuments + 2 }

  /** @param {string} topic @param {Subscription} subscription @returns {boolean} false: there are too many */
  subscribe (topic, subscription) {
    this.#subscriptions ??= new SmallMap()
    if (!this.#subscriptions.has(topic) && this.#subscriptions.size >= this.maxTopics) return false
    this.#subscriptions.set(topic, subscription)
    if (subscription.place !== undefined) this.#inFlight.reserve(subscription.place.ids.values())
    return true
  }

  /** @param {string} topic @returns {boolean} whether there was one */
  unsubscribe (topic) { return this.#subscriptions?.delete(topic) ?? false }

  /** @param {string} guid @returns {boolean} whether a topic of it is left */
  needs (guid) {
    for (const subscription of this.#subscriptions?.values() ?? []) if (subscription.guid === guid) return true
    return false
  }

  /** One that a service opens is subscribed, too. @override @param {string} guid */
  addDocument (guid) {
    const document = super.addDocument(guid)
    if (document !== null && !this.needs(guid)) this.subscribe(documentTopic(guid), {
      qos: 1, noLocal: false, guid, retained: false, place: undefined
    })
    return document
  }

  /** Also when its right ends. @override @param {string} guid */
  removeDocument (guid) {
    this.#announced?.delete(guid)
    // after a join that failed the caller decides: a session keeps it for the next attempt
    if (this.open && this.document(guid)?.joined) {
      for (const [topic, subscription] of this.#subscriptions ?? [])
        if (subscription.guid === guid) this.#subscriptions?.delete(topic)
    }
    return super.removeDocument(guid)
  }

  // Delivery

  /** @override @param {import('../connection.js').Delivered} given @param {boolean} [anyway] @returns {false | void} */
  deliver (given, anyway) {
    // presence is not for these clients
    if (!('publication' in given) || this.#subscriptions === undefined) return
    const { topic, record } = formsOf(given)
    const subscription = this.#subscriptions.get(topic)
    if (subscription === undefined) return
    if (subscription.noLocal && given.publication.from === this.id) {
      this.unsaved = true
      return
    }
    if (subscription.qos === 1 && record !== undefined) {
      if (!this.open) return this.#missed(record)
      if (!this.#inFlight.hasRoom) return false
    }
    return super.deliver(given, anyway, subscription)
  }

  /** Its session has to continue before it. @param {import('./in-flight.js').Record} record */
  #missed ({ guid, offset }) {
    this.#unsent ??= new Map()
    this.#unsent.set(guid, Math.min(this.#unsent.get(guid) ?? Infinity, offset))
  }

  /** @override @param {import('../connection.js').Delivered} given @param {Subscription} subscription */
  messagesOf (given, { qos, retained: isRetained = false, retainedUpTo = 0, place }) {
    const forms = formsOf(/** @type {Delivery} */ (given))
    const retained = isRetained || (forms.record !== undefined && forms.record.offset <= retainedUpTo)
    const record = qos === 1 ? forms.record : undefined
    const { packet, messages } = forms.form(this.offer.version, record === undefined ? 0 : 1)
    // [MQTT5-3.1.2-25]: as if it had been sent
    if (!fits(packet.bytes, this.offer)) {
      const metrics = /** @type {import('../../observe/metrics/metrics.js').Metrics} */ (this.context.metrics)
      metrics.mqtt_records_too_large.inc()
      if (record !== undefined) place?.ids.delete(record.offset)
      this.unsaved = true
      return []
    }
    if (record === undefined && !retained) return messages
    const again = record !== undefined && !retained && place !== undefined && record.offset <= place.sent
    const original = again ? place.ids.get(record.offset) : undefined
    if (again) {
      // acknowledged in an earlier connection
      if (original === undefined) return []
      place.ids.delete(record.offset)
      this.#inFlight.addAgain(record, original)
    }
    const id = original ?? (record === undefined ? NO_ID : this.#inFlight.add(record))
    if (id === packet.id && !retained && !again) return messages
    const frame = ownPacket(packet, id, { retain: retained, again })
    return [{ ...messages[0], data: frame, frame }]
  }

  /** @param {number} id of a packet @returns {boolean} whether it was in flight */
  taken (id) {
    const record = this.#flight?.take(id)
    if (record === undefined) return false
    if (record.guid !== null) {
      this.unsaved = true
      this.#announced?.delete(record.guid)
    }
    if (record.ackId !== undefined) this.acknowledged(record.ackId)
    return true
  }

  /**
   * @param {Subscription} subscription to a document, or to the user's log
   * @param {import('../../documents/feeds.js').Feeds} feeds
   * @param {import('../user-logs.js').UserLogs} userLogs
   * @returns {Place | undefined} where a session continues
   */
  placeIn ({ guid, place }, feeds, userLogs) {
    if (this.#announced?.has(guid)) return placeInNone()
    const document = guid === undefined ? undefined : this.document(guid)
    const known = guid === undefined
      ? userLogs.positionOf(this)
      : document?.joined ? feeds.position(guid, this) : document?.sent
    // without a position its join has failed, perhaps after a part of its records was sent again
    const at = known ?? place
    if (at === undefined) return undefined
    const unsent = (this.#unsent?.get(guid) ?? Infinity) - 1
    const sent = Math.min(Math.max(at.offset, place?.sent ?? 0), unsent)
    // those of an earlier connection that have not come again yet are behind the position
    const ids = new Map([...place?.ids ?? [], ...this.#flight?.of(guid) ?? []].filter(([offset]) => offset <= sent))
    const offset = Math.min(at.offset, unsent, ...Array.from(ids.keys(), (least) => least - 1))
    return { epoch: at.epoch, offset, sent, ids }
  }

  /**
   * Offsets of the log before say nothing about the one that follows.
   * @override
   * @param {string} guid
   * @param {import('../../wire/position.js').Position} position
   * @param {string} reason
   */
  resync (guid, position, reason) {
    this.#forget(guid)
    super.resync(guid, position, reason)
  }

  /** @param {string | undefined} guid undefined: the user's log */
  #forget (guid) {
    this.#flight?.forget(guid)
    this.#unsent?.delete(guid)
    if (this.subscription(GATEWAY) !== undefined) (this.#announced ??= new Set()).add(guid)
    for (const subscription of this.#subscriptions?.values() ?? [])
      if (subscription.guid === guid) subscription.place = subscription.retainedUpTo = undefined
  }

  /** Records that it takes before it acknowledges one. */
  get room () { return this.offer.receiveMaximum - (this.#flight?.size ?? 0) }

  /** A join does not wait for acknowledgements: SUBACK comes before [MQTT5-3.3.4-10]. */
  get joinsBehind () { return true }

  /** @override @param {string} [guid] */
  drained (guid) {
    const full = super.drained()
    if (full !== undefined || !this.open || this.#flight === undefined || this.#flight.hasRoom) return full
    return guid === undefined || this.#isAcknowledged(guid) ? this.#flight.drained() : undefined
  }

  /** @param {string} guid @returns {boolean} whether the client acknowledges records of the document */
  #isAcknowledged (guid) {
    for (const { guid: of, qos } of this.#subscriptions?.values() ?? []) if (of === guid && qos > 0) return true
    return false
  }

  /** Its end: nothing waits for it. */
  ends () { this.#flight?.end() }

  /** The log has what waits: only a client that acknowledges nothing is too slow (in-flight.js). @override */
  fellBehind () {}

  /** @override */
  caughtUp () { if (happened.hasSubscribers) this.tell('caught_up', {}, this.documents()) }

  /** @override @param {string} guid */
  withdraw (guid) {
    const frames = super.withdraw(guid)
    for (const frame of frames) this.#flight?.take(packetIdIn(frame))
    this.#flight?.forget(guid)
    return frames
  }

  // Events of the gateway

  /** @override @param {string} event @param {any} payload */
  send (event, payload) {
    if (event === 'gateway:disconnect') return this.#tellEnd(disconnectOf(payload.code), payload.message, payload)
    // a document opens or closes, or a position advances; a drain writes each session at its end
    if (!KEEPS_SESSION.has(event)) this.unsaved = true
    if (event === 'gateway:resync') this.#forget(undefined)
    if (this.subscription(GATEWAY) === undefined) return
    const properties = this.offer.version === 5 ? userProperties({ [HEADER.event]: event }) : undefined
    const { bytes } = publishPacket(GATEWAY, Buffer.from(JSON.stringify({ event, payload })), NO_ID, properties)
    if (fits(bytes, this.offer)) this.write(bytes)
  }

  /**
   * @param {number} reasonCode
   * @param {string} reasonString
   * @param {{ retryInMs?: number, atOnce?: boolean }} [more] atOnce: before what is queued
   */
  #tellEnd (reasonCode, reasonString, { retryInMs, atOnce } = {}) {
    if (this.offer.version !== 5 || !this.open) return
    this.flush()
    const encode = () => {
      const properties =
        { reasonString, ...(retryInMs !== undefined && { userProperties: { retryInMs: String(retryInMs) } }) }
      return encodeShort({ cmd: 'disconnect', reasonCode, properties }, this.offer)
    }
    const { kept } = this.offer
    // of clients that may try again each gets its own time
    const bytes = kept === undefined || retryInMs !== undefined ? encode() : kept.get(`${reasonCode} ${reasonString}`, encode)
    if (!fits(bytes, this.offer)) return
    if (atOnce) this.conn.writeLast(bytes)
    else this.write(bytes)
  }

  /** @override */
  endSession () { this.conn.close() }

  /** Closes after an error of its protocol. @param {number} reason @param {string} message */
  endWith (reason, message) {
    this.endCode ??= 'bad_value'
    if (happened.hasSubscribers) this.tell('closing', { reason: message }, this.documents())
    this.#tellEnd(reason, message, { atOnce: true })
    this.conn.close(true)
  }

  /** @override @param {string} [reason] */
  giveUp (reason = 'too slow, resume') {
    if (happened.hasSubscribers) this.tell('closing', { reason }, this.documents())
    this.#tellEnd(Reason.QUOTA, reason, { atOnce: true })
    this.conn.close(true)
  }

  /** @override */
  tellDraining () {
    this.moves = true
    super.tellDraining()
  }

  /** @override */
  goAway () {
    const { draining } = /** @type {any} */ (this.conn.server)
    this.#tellEnd(draining ? Reason.SHUTTING_DOWN : Reason.OTHER_SERVER, 'connect again: another worker takes over')
    this.conn.close()
  }

  /** Requests are answered by reason codes. @override */
  requestOf () { return undefined }

  /** @param {Buffer} bytes of a packet */
  write (bytes) { this.conn.write(undefined, { wsPreEncodedFrame: [bytes] }) }

  /** @param {any} packet with reasons in words, which the client may not want or not be able to take */
  answerWith (packet) {
    const bytes = encodeShort(packet, this.offer)
    if (fits(bytes, this.offer)) this.write(bytes)
  }
}

/**
 * @param {Buffer} bytes of a packet
 * @param {Pick<Offer, 'maxPacket'>} offer
 * @returns {boolean} whether the client can take it [MQTT5-3.1.2-24]
 */
export const fits = (bytes, { maxPacket }) => maxPacket === 0 || bytes.length <= maxPacket

/**
 * @param {any} packet
 * @param {Pick<Offer, 'version' | 'explains' | 'maxPacket'>} offer
 * @returns {Buffer} without reasons in words that the client does not want [MQTT5-3.1.2-29] or that make the packet too
 *   large [MQTT5-3.4.2-2] [MQTT5-3.2.2-19] [MQTT5-3.14.2-3]
 */
export function encodeShort (packet, offer) {
  const { version, explains } = offer
  const short = { ...packet, properties: undefined }
  if (version !== 5 || (!explains && packet.cmd !== 'disconnect')) return encodePacket(short, version)
  const bytes = encodePacket(packet, version)
  return fits(bytes, offer) ? bytes : encodePacket(short, version)
}
