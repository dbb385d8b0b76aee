import { ERRORS, publicError } from '../../base/common/errors.js'
import { RATE_LIMITED } from '../../transport/admission/rate-limit.js'
import { MqttError } from '../../transport/mqtt/packet-reader.js'
import { Delivery } from '../../documents/delivery/delivery.js'
import { isExcepted } from '../../documents/feed.js'
import { readTopic } from '../../wire/mqtt-topic.js'
import { handleEvent } from '../handlers/dispatch.js'
import { MAX_LAST } from '../handlers/input.js'
import { Reason, subackOf } from './codes.js'

/**
 * SUBSCRIBE and UNSUBSCRIBE of a client: a document is open while one of its topics is subscribed.
 *
 * @typedef {import('./mqtt-connection.js').MqttConnection} MqttConnection
 * @typedef {import('../handlers/context.js').HandlerContext & { userLogs: import('../user-logs.js').UserLogs }} Context
 * @typedef {[topic: string, qos: 0 | 1, noLocal: boolean, place: StoredPlace | null]} Topic of a session
 * @typedef {Omit<import('./mqtt-connection.js').Place, 'ids'> & { ids: [offset: number, id: number][] }} StoredPlace
 * @typedef {{ topic: string, qos: number, nl?: boolean, rh?: number }} Filter
 * @typedef {import('./mqtt-connection.js').Subscription} Subscription
 * @typedef {import('../../wire/position.js').Position} Position
 * @typedef {import('../../base/common/errors.js').ErrorCode} ErrorCode
 */

const WILDCARD = /[+#]/
const SHARED = '$share/'
/** Retain handling: send it always, or only for a new subscription; 2: never (MQTT 5, 3.8.3.1). */
const [ALWAYS, IF_NEW] = [0, 1]
/** User property of SUBSCRIBE: the number of newest records that come as retained ones. */
const LAST = 'last'
const REFUSED_3 = 0x80

/**
 * @param {MqttConnection} connection
 * @param {any} packet
 * @param {Context} context
 * @param {() => Promise<void>} save keeps the session: SUBACK says that the subscriptions outlast the connection
 */
export async function subscribe (connection, { messageId, subscriptions, properties }, context, save) {
  if (properties?.subscriptionIdentifier !== undefined)
    throw new MqttError(Reason.SUBSCRIPTION_ID, 'subscription identifiers are not supported')
  if (subscriptions.some((/** @type {Filter} */ { topic, nl }) => nl && topic.startsWith(SHARED))) // [MQTT5-3.8.3-4]
    throw new MqttError(Reason.PROTOCOL_ERROR, 'a shared subscription cannot be No Local')
  const last = Number(properties?.userProperties?.[LAST] ?? 1)
  /** @type {Map<string, Promise<number>>} */
  const byTopic = new Map()
  // a topic twice is a sequence [MQTT-3.8.4-4]
  const granted = await Promise.all(subscriptions.map(async (/** @type {Filter} */ filter) => {
    const before = byTopic.get(filter.topic)
    const subscribing = before === undefined
      ? subscribeOrRefuse(connection, filter, last, context)
      : before.then(() => subscribeOrRefuse(connection, filter, last, context))
    byTopic.set(filter.topic, subscribing)
    return subscribing
  }))
  await save()
  if (!connection.open) return
  const codes = connection.offer.version === 5 ? granted : granted.map((code) => Math.min(code, REFUSED_3))
  connection.answerWith({ cmd: 'suback', messageId, granted: codes })
}

/**
 * @param {MqttConnection} connection
 * @param {Filter} filter
 * @param {number} last
 * @param {Context} context
 * @returns {Promise<number>} granted quality of service, or why it is refused
 */
async function subscribeOrRefuse (connection, filter, last, context) {
  const before = connection.subscription(filter.topic)
  try {
    return await subscribeTo(connection, filter, last, context)
  } catch (error) {
    const { code } = publicError(error)
    if (code === 'internal') context.log.error({ err: error }, 'a subscription failed')
    if (before === undefined) connection.unsubscribe(filter.topic)
    else connection.subscribe(filter.topic, before)
    return subackOf(code)
  }
}

/**
 * @param {MqttConnection} connection
 * @param {Filter} filter
 * @param {number} last
 * @param {Context} context
 * @returns {Promise<number>} granted quality of service, or why it is refused
 * @throws {Error} the newest records or the user's log cannot be read
 */
async function subscribeTo (connection, { topic, qos, nl = false, rh = ALWAYS }, last, context) {
  if (topic.startsWith(SHARED)) return Reason.SHARED
  if (WILDCARD.test(topic)) return Reason.WILDCARD
  const to = readTopic(topic)
  if (to === null) return Reason.TOPIC_FILTER
  if (!Number.isInteger(last) || last < 0 || last > MAX_LAST) return subackOf('bad_request')
  if (!connection.mayHandle()) return subackOf((connection.limited ?? RATE_LIMITED).error.code)
  const guid = 'guid' in to ? to.guid : undefined
  const before = connection.subscription(topic)
  const granted = (to.kind === 'document' || to.kind === 'user') && qos > 0 ? 1 : 0
  /** @type {Subscription} */
  const subscription = {
    qos: granted, noLocal: nl, guid, retained: false, retainedUpTo: before?.retainedUpTo, place: before?.place
  }
  if (!connection.subscribe(topic, subscription)) return Reason.QUOTA
  if (guid === undefined) {
    if (to.kind === 'user') await readUserLog(connection, null, context)
    return granted
  }
  const retained = to.kind === 'document' && (rh === ALWAYS || (rh === IF_NEW && before === undefined)) ? last : 0
  const known = connection.document(guid)
  // what comes while another topic, or the session, opens the document is no answer to this subscription
  const opens = known === undefined
  subscription.retained = opens && retained > 0
  const error = known?.joined
    ? undefined
    : await join(connection, { guid, ...(opens && retained > 0 && { last: retained }) }, context)
  subscription.retained = false
  if (error !== undefined) {
    connection.unsubscribe(topic)
    return subackOf(error)
  }
  if (opens && retained > 0) subscription.retainedUpTo = newestWithoutRoom(connection, guid, context)
  // those of the subscription that it replaces come as its own, unless they have come
  const { retainedUpTo } = subscription
  const isToCome = retainedUpTo !== undefined && (context.feeds.position(guid, connection)?.offset ?? 0) < retainedUpTo
  if (!isToCome) subscription.retainedUpTo = undefined
  if (opens || retained === 0 || isToCome) return granted
  // SUBACK does not wait for room [MQTT5-3.3.4-10]
  const isSent = connection.drained(guid) === undefined && await sendNewest(connection, topic, retained, context)
  return isSent || sendLater(connection, topic, retained, context) ? granted : Reason.QUOTA
}

/**
 * @param {MqttConnection} connection
 * @param {string} guid that was just joined
 * @param {Context} context
 * @returns {number | undefined} offset of the last record that the join had no room for, if there is one
 */
function newestWithoutRoom (connection, guid, { feeds }) {
  const [end, own] = [feeds.position(guid), feeds.position(guid, connection)]
  return end !== undefined && own !== undefined && own.offset < end.offset ? end.offset : undefined
}

/**
 * @param {MqttConnection} connection that is full
 * @param {string} topic
 * @param {number} last
 * @param {Context} context
 * @returns {boolean} false: too many wait already
 */
function sendLater (connection, topic, last, context) {
  const { newestLater: waiting } = connection
  if (waiting !== undefined) {
    if (!waiting.has(topic) && waiting.size >= connection.maxTopics) return false
    waiting.set(topic, last)
    return true
  }
  connection.newestLater = new Map([[topic, last]])
  sendWaiting(connection, connection.newestLater, context).catch((error) => {
    context.log.debug({ err: error }, 'newest records cannot be read')
    connection.giveUp('unavailable, connect again')
  }).finally(() => { connection.newestLater = undefined })
  return true
}

/** @param {MqttConnection} connection @param {Map<string, number>} waiting @param {Context} context */
async function sendWaiting (connection, waiting, context) {
  for (const [topic, last] of waiting) {
    do {
      const guid = connection.subscription(topic)?.guid
      for (let full = connection.drained(guid); full !== undefined; full = connection.drained(guid)) await full
      if (!connection.open) return
      // before the read: a SUBSCRIBE meanwhile waits for one of its own
      waiting.delete(topic)
    } while (!await sendNewest(connection, topic, last, context) && !waiting.has(topic))
  }
}

/**
 * Joins in progress, with the code of their error. doc:join refuses the eleventh that follows one, and a client may
 * subscribe to any number of signals of a document at once.
 * @type {WeakMap<import('../open-document.js').OpenDocument, Promise<ErrorCode | undefined>>}
 */
const joins = new WeakMap()

/**
 * Opens a document, or waits until another subscription has opened it.
 * @param {MqttConnection} connection
 * @param {{ guid: string, position?: Position | null, last?: number }} input of doc:join
 * @param {Context} context
 * @returns {Promise<ErrorCode | undefined>} code of an error
 */
function join (connection, input, context) {
  const known = connection.document(input.guid)
  const joining = known?.joined === false ? joins.get(known) : undefined
  if (joining !== undefined) return joining
  const begun = beginJoin(connection, input, context)
  const document = connection.document(input.guid)
  if (document?.joined === false) joins.set(document, begun)
  return begun
}

/** @param {MqttConnection} connection @param {object} input @param {Context} context */
async function beginJoin (connection, input, context) {
  let answer = /** @type {any} */ (undefined)
  await handleEvent(connection, 'doc:join', [input, (/** @type {any} */ given) => { answer = given }], context)
  return /** @type {ErrorCode | undefined} */ (answer?.error?.code)
}

/**
 * A subscription that replaces one gets the newest records once more [MQTT-3.8.4-3], as many as there is room for. One
 * that is older than what the client has got meanwhile would look like the newest.
 *
 * @param {MqttConnection} connection
 * @param {string} topic
 * @param {number} last
 * @param {Context} context
 * @returns {Promise<boolean>} false: other records have taken the room
 */
async function sendNewest (connection, topic, last, { bus, reads, feeds }) {
  const subscription = connection.subscription(topic)
  if (subscription?.guid === undefined) return true
  const { guid, qos } = subscription
  const count = qos === 0 ? last : Math.min(last, connection.room)
  const { records, position } = await reads.of(bus, connection.uid).newest(guid, count, count)
  if (connection.subscription(topic) !== subscription) return true
  const at = feeds.position(guid, connection)
  if (at?.epoch !== position.epoch || at.offset > position.offset) return true
  if (connection.open && connection.drained(guid) !== undefined) return false
  subscription.retained = true
  for (const { publication, offset, after, epoch } of records) {
    if (isExcepted(connection, publication)) continue
    connection.deliver(new Delivery(publication, offset, null, after, epoch))
  }
  subscription.retained = false
  return true
}

/** @param {StoredPlace} place @returns {import('./mqtt-connection.js').Place} */
const readPlace = (place) => ({ ...place, ids: new Map(place.ids) })

/**
 * Opens the subscriptions of a session that continues: each document once, at the place of its first topic.
 * @param {MqttConnection} connection
 * @param {Topic[]} topics
 * @param {Context} context
 */
export async function openAgain (connection, topics, context) {
  /** @type {Map<string, Opened[]>} */
  const byDocument = new Map()
  /** @type {Promise<void>[]} */
  const opening = []
  for (const [topic, qos, noLocal, place] of topics) {
    const to = readTopic(topic)
    if (to === null) continue
    const guid = 'guid' in to ? to.guid : undefined
    const subscription = { qos, noLocal, guid, retained: false, place: place === null ? undefined : readPlace(place) }
    connection.subscribe(topic, subscription)
    if (to.kind === 'user') opening.push(openUserLog(connection, positionOf(place), context))
    if (guid === undefined) continue
    const others = byDocument.get(guid)
    if (others === undefined) byDocument.set(guid, [{ topic, subscription, place }])
    else others.push({ topic, subscription, place })
  }
  for (const [guid, opened] of byDocument) opening.push(openDocument(connection, guid, opened, context))
  await Promise.all(opening)
}

/**
 * @typedef {{ topic: string, subscription: Subscription, place: StoredPlace | null }} Opened
 *
 * @param {MqttConnection} connection
 * @param {string} guid
 * @param {Opened[]} opened topics of the document
 * @param {Context} context
 */
async function openDocument (connection, guid, opened, context) {
  const error = await join(connection, { guid, position: positionOf(opened[0].place) }, context)
  if (error === undefined || !connection.open) return
  if (!ERRORS[error].retryable) {
    for (const { topic } of opened) connection.unsubscribe(topic)
    return
  }
  // their records would be missing; the join has removed the subscriptions, and the session has to keep them
  for (const { topic, subscription } of opened) connection.subscribe(topic, subscription)
  connection.giveUp('unavailable, connect again')
}

/** @param {MqttConnection} connection @param {Position | null} position @param {Context} context */
async function openUserLog (connection, position, context) {
  try {
    await readUserLog(connection, position, context)
  } catch (error) {
    if (publicError(error).code === 'internal') context.log.error({ err: error }, 'the log of a user is not read')
    // as for documents
    if (connection.open) connection.giveUp('unavailable, connect again')
  }
}

/** @param {StoredPlace | null} place @returns {Position | null} */
const positionOf = (place) => place === null ? null : { epoch: place.epoch, offset: place.offset }

/**
 * @param {MqttConnection} connection
 * @param {Position | null} position null: from now on
 * @param {Context} context
 */
async function readUserLog (connection, position, { userLogs }) {
  if (userLogs.has(connection)) return
  const beginning = await userLogs.begin(connection.uid, position)
  if (userLogs.has(connection) || !connection.open) return
  userLogs.prepare(connection, beginning)
  userLogs.join(connection)
}

/**
 * @param {MqttConnection} connection
 * @param {any} packet
 * @param {Context} context
 * @param {() => Promise<void>} save keeps the session
 */
export async function unsubscribe (connection, { messageId, unsubscriptions }, context, save) {
  const granted = []
  for (const topic of unsubscriptions) {
    const guid = connection.subscription(topic)?.guid
    granted.push(connection.unsubscribe(topic) ? Reason.OK : Reason.NO_SUBSCRIPTION)
    if (guid !== undefined && !connection.needs(guid)) await handleEvent(connection, 'doc:leave', [{ guid }], context)
    else if (topic === 'user') context.userLogs.leave(connection)
  }
  await save()
  if (connection.open) connection.answerWith({ cmd: 'unsuback', messageId, granted })
}
