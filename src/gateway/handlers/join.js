import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { strictObject } from '../../base/common/schema.js'
import { guid, idle, isGuidOnly, last, members as asksForMembers, position, state, tab } from './input.js'
import { leaveDocument } from './leave.js'
import { assertMayAct } from './standing.js'

export const schema = strictObject({
  guid,
  position: v.nullish(position),
  last: v.optional(last),
  state: v.optional(state),
  idle: v.optional(idle),
  members: v.optional(asksForMembers),
  tab: v.optional(tab)
})
export const isPlain = isGuidOnly

/** @typedef {import('../open-document.js').OpenDocument} OpenDocument */
/** @typedef {Awaited<ReturnType<import('./context.js').HandlerContext['feeds']['join']>>} Joined */

/** Part of an answer. */
const READ_ONLY = Object.freeze({ access: /** @type {const} */ ('read') })
/** The same in a document where everybody may signal. */
const READ_AND_SIGNAL = Object.freeze({ ...READ_ONLY, signals: true })
/** Maximum joins that wait for the same one. A client that retries every 30 s has given up long before. */
const MAX_FOLLOWERS = 10
/** @typedef {{ resolve: (joined: Joined) => void, reject: (error: unknown) => void }} Follower */
/**
 * Joins that wait for an earlier one of the same document by the same connection; usually there are none.
 * @type {WeakMap<OpenDocument, Follower[]>}
 */
const followers = new WeakMap()

/**
 * Opens a document on a connection. Records missed since `position`, or without it the newest `last` ones, are sent as
 * ordinary events before the acknowledgement. A join with a state, or that asks for the members, takes part in the
 * document's presence. A join of a document whose join is in progress waits for that one.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, position, last, tab, ...part }, context) {
  const { feeds, access, connectionListeners, presence, rulesOf } = context
  const { state } = part
  if (tab !== undefined) connection.isSharedBy(tab)
  const known = connection.document(guid)
  if (known !== undefined && !known.joined)
    return follow(connection, { guid, position, ...part }, known, context)
  // before the first await: a leave or revoke that follows must find it
  const document = known ?? connection.addDocument(guid)
  if (document === null) throw new InkcastError('too_many_documents')
  const takesPart = isPart(part) && rulesOf(guid).presence
  try {
    if (state !== undefined) presence.checkState(state)
    const asked = mayRead(connection, guid, access)
    if (asked !== undefined) {
      await asked
      assertMayAct(context)
    }
    assertWanted(document)
    if (known !== undefined) {
      const resumed = await resume(connection, guid, position, document, feeds)
      const answer = { guid, ...resumed, ...readOnly(connection, guid, context) }
      return takesPart ? await takePart(connection, document, part, answer, context) : answer
    }
    document.sent = position ?? null
    let answer = await feeds.join(guid, connection, position ?? undefined, () => document.wanted, last)
    assertWanted(document)
    document.joined = true
    document.sent = null
    connectionListeners.joined(connection, guid, state)
    const joining = connection.enterRoom(`doc:${guid}`)
    if (joining !== undefined) {
      await joining
      assertWanted(document)
      answer = inLog(answer, feeds.position(guid, connection))
    }
    tellFollowers(document, ({ resolve }) => resolve(answer))
    const joined = { guid, ...answer, ...readOnly(connection, guid, context) }
    return takesPart ? await takePart(connection, document, part, joined, context) : joined
  } catch (error) {
    // the document was left or revoked meanwhile: report that, not the join's own error
    const shown = document.wanted ? error : leftMeanwhile()
    if (known === undefined) {
      if (document.wanted) leaveDocument(connection, guid, 'ended', context)
      tellFollowers(document, ({ reject }) => reject(shown))
    }
    throw shown
  }
}

/**
 * Waits for a join in progress: a client retried after a timeout, or another part of a page opens the same document.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {OpenDocument} document whose join is in progress
 * @param {import('./context.js').HandlerContext} context
 */
async function follow (connection, { guid, position, ...part }, document, context) {
  const { feeds, presence, rulesOf } = context
  if (part.state !== undefined) presence.checkState(part.state)
  const waiting = followers.get(document) ?? []
  if (waiting.length >= MAX_FOLLOWERS) throw new InkcastError('rate_limited', 'this document is being joined already')
  followers.set(document, waiting)
  // records sent from now on reach this caller as well
  const sent = document.sent && { ...document.sent }
  const joined = await new Promise((/** @type {(joined: Joined) => void} */ resolve, reject) => {
    waiting.push({ resolve, reject })
  })
  assertWanted(document)
  // a resync of the first join covers this one as well
  const told = position == null || (sent !== null && (!joined.recovered || isBetween(position, sent, joined.position)))
  const answer = {
    guid,
    ...(told
      ? { position: joined.position, recovered: joined.recovered && position != null }
      : await resume(connection, guid, position, document, feeds)),
    ...readOnly(connection, guid, context)
  }
  return isPart(part) && rulesOf(guid).presence
    ? takePart(connection, document, part, answer, context)
    : answer
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../../wire/position.js').Position | null | undefined} position of the caller
 * @param {OpenDocument} document already open
 * @param {import('./context.js').HandlerContext['feeds']} feeds
 */
async function resume (connection, guid, position, document, feeds) {
  if (position == null) {
    const own = /** @type {import('../../wire/position.js').Position} */ (feeds.position(guid, connection))
    return { position: own, recovered: false }
  }
  const answer = await feeds.resume(guid, connection, position, () => document.wanted)
  assertWanted(document)
  return answer
}

/**
 * @param {import('../../wire/position.js').Position} position
 * @param {import('../../wire/position.js').Position} from
 * @param {import('../../wire/position.js').Position} to
 */
function isBetween ({ epoch, offset }, from, to) {
  return epoch === from.epoch && epoch === to.epoch && offset >= from.offset && offset <= to.offset
}

/** @param {OpenDocument} document @param {(follower: Follower) => void} tell */
function tellFollowers (document, tell) {
  const waiting = followers.get(document)
  if (waiting === undefined) return
  followers.delete(document)
  waiting.forEach(tell)
}

/**
 * Fields of a join about the presence.
 * @typedef {{ state?: object | undefined, idle?: boolean | undefined, members?: boolean | 'watch' | undefined }} Part
 */

/** @param {Part} part */
const isPart = ({ state, members }) => state !== undefined || members === true || members === 'watch'

/**
 * Await this last: no event for the members may be sent between this answer and the client's.
 * @template {Joined & { guid: string }} T
 * @param {import('../connection.js').Connection} connection
 * @param {OpenDocument} document
 * @param {Part} part
 * @param {T} joined
 * @param {Pick<import('./context.js').HandlerContext, 'presence' | 'feeds'>} context
 */
async function takePart (connection, document, { state, idle, members }, joined, { presence, feeds }) {
  const { guid } = joined
  assertWanted(document)
  const answer = await presence.join(connection, guid, document, {
    state, idle, watches: members === 'watch' && state === undefined
  })
  assertWanted(document)
  return { ...inLog(joined, feeds.position(guid, connection)), ...answer }
}

/**
 * The log may have been replaced while the answer waited. The client has been told to resync then, and a position of
 * the log before would make it drop records of the new one.
 * @template {Joined} T
 * @param {T} joined
 * @param {import('../../wire/position.js').Position | undefined} position of the connection now
 * @returns {T}
 */
const inLog = (joined, position) => position === undefined || position.epoch === joined.position.epoch
  ? joined
  : { ...joined, position, recovered: false }

/** @param {{ wanted: boolean }} document @throws {InkcastError} not_joined */
function assertWanted ({ wanted }) {
  if (!wanted) throw leftMeanwhile()
}

const leftMeanwhile = () => new InkcastError('not_joined', 'the document was left before it was joined')

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('./context.js').HandlerContext} context
 * @returns {{ access: 'read', signals?: boolean } | undefined} a part of the answer
 */
function readOnly ({ identity }, guid, { access, rulesOf }) {
  if (!access.readOnly(identity, guid)) return undefined
  return rulesOf(guid).signals === 'everybody' ? READ_AND_SIGNAL : READ_ONLY
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('./context.js').HandlerContext['access']} access
 * @returns {Promise<void> | undefined} undefined: allowed, without asking a service
 * @throws {InkcastError} (or rejects with) forbidden
 */
function mayRead (connection, guid, access) {
  const { identity } = connection
  const allowed = access.check(identity, guid, 'read')
  if (allowed === false) throw new InkcastError('forbidden')
  return allowed === true ? undefined : whenAsked(connection, guid, access, identity, allowed)
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('./context.js').HandlerContext['access']} access
 * @param {import('../../people/auth/identity.js').Identity} identity of the request to the service
 * @param {Promise<boolean>} allowed
 */
async function whenAsked (connection, guid, access, identity, allowed) {
  if (!await allowed) throw new InkcastError('forbidden')
  // a new token may have come meanwhile
  if (identity !== connection.identity) await mayRead(connection, guid, access)
}
