import { LogLimit } from '../../base/common/log-limit.js'
import { createStoreSync } from './store-sync.js'
import { AWAY, Departures, DIRTY, HELD, Holding, TOLD_FREE, TOLD_HELD, WANTED } from './holding.js'
import { incarnationName } from '../workers/worker-watch.js'

/**
 * The sessions of one worker: its connected users and their open documents. A cycle writes changes to the store in
 * batches; handshakes and joins never wait for it. The business services receive events when a user is online or
 * offline, joins or leaves a document, and when a document is vacated (docs/kafka.md).
 *
 * A user whose connection ends is held for the grace: after a reconnect within it, here or to another worker, the user
 * counts as never having left.
 *
 * The order of writes makes sure that another process can clean up after a dead worker completely: first the table of
 * users, then the holdings; for a release the other way round.
 *
 * @typedef {import('./contract.js').Session} Session
 *
 * @typedef {object} Known the required part of a connection
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {string} transport
 * @property {number} lastSeen ms since 1970
 * @property {() => string[]} openDocuments
 */

/** @typedef {ReturnType<typeof createSessions>} Sessions */

/** Interval at which changes are written to the store while there are users, ms. */
const CYCLE = 200
/** Interval of `seen`, ms. */
const SEEN_EVERY = 15_000
/** Timeout for the last changes of a worker that stops, ms. */
const STOP_TIME = 2000
/** Reasons without a grace. */
const ON_PURPOSE = new Set(['left', 'revoked'])

/** A document with members on this worker, including those within the grace. */
class HeldDocument extends Holding {
  /** Number of held users in it. */
  members = 0
}

/**
 * @param {object} dependencies
 * @param {import('./contract.js').SessionStore} dependencies.store
 * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {() => { readonly number: number, readonly incarnation: number, readonly held?: boolean }} dependencies.worker
 *   held: false if the lease of its number may have ended
 * @param {(uid: string) => Iterable<Known>} dependencies.connectionsOf
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 * @param {number} dependencies.grace ms
 * @param {number} dependencies.silence time without a packet after which a connection is closed, ms
 */
export function createSessions ({ store, uplink, worker, connectionsOf, metrics, log, clock, random, grace, silence }) {
  const begin = clock.monotonic()
  /** V8 allocates no memory for small integers. @returns {number} ms since the start of the worker */
  const now = () => Math.trunc(clock.monotonic() - begin)
  /** By the current setting of the clock. @param {number} at a result of `now` @returns {number} ms since 1970 */
  const wallTime = (at) => clock.now() - (now() - at)
  const { number, incarnation } = worker()
  let name = incarnationName(number, incarnation)
  /** Bounded by the number of open connections and of those ended within the grace. @type {Map<string, Holding>} */
  const users = new Map()
  /** Bounded likewise. @type {Map<string, HeldDocument>} */
  const documents = new Map()
  /** Users whose sessions in the store are outdated, each once. @type {Holding[]} */
  let dirty = []
  const departures = new Departures()
  const sync = createStoreSync({
    store,
    uplink,
    incarnation: () => name,
    timeOf: (holding) => (holding.uid === undefined ? clock.now() : wallTime(holding.at)),
    onSettled,
    log,
    clock,
    random
  })
  let started = false
  /**
   * Runs while there are users: a worker at rest is not woken.
   * @type {import('../../base/common/clock.js').Timer | undefined}
   */
  let timer
  /** @type {Promise<void> | undefined} */
  let running
  const logLimit = new LogLimit({ clock })
  let seenAt = now()

  /** @param {Holding} user */
  function touch (user) {
    if (user.has(DIRTY)) return
    user.flags |= DIRTY
    dirty.push(user)
  }

  /** Adds a connection. @param {Holding} holding @param {string} sid */
  function take (holding, sid) {
    holding.connections++
    if (holding.has(AWAY)) {
      holding.flags &= ~AWAY
    } else if (!holding.has(WANTED)) {
      holding.flags |= WANTED
      holding.sid = sid
      holding.at = now()
      sync.enqueue(holding)
    }
  }

  /** Removes a connection. @param {Holding} holding @param {string} sid @param {string} reason */
  function leave (holding, sid, reason) {
    if (--holding.connections > 0) return
    holding.sid = sid
    holding.reason = reason
    holding.at = now()
    if (ON_PURPOSE.has(reason)) return release(holding)
    holding.flags |= AWAY
    departures.add(holding)
  }

  /** @param {Holding} holding without a connection and without grace */
  function release (holding) {
    holding.flags &= ~(WANTED | AWAY)
    if (holding.pending) sync.enqueue(holding)
    else onSettled(holding)
  }

  /** @param {Holding} user @param {string} guid */
  function memberOf (user, guid) {
    for (let member = user.next; member !== null; member = member.next) if (member.guid === guid) return member
    return undefined
  }

  /** @param {Holding} user @param {string} guid */
  function addMember (user, guid) {
    const member = new Holding(user.uid, guid)
    member.next = user.next
    user.next = member
    let document = documents.get(guid)
    if (document === undefined) documents.set(guid, document = new HeldDocument(undefined, guid))
    if (document.members++ === 0) {
      document.flags |= WANTED
      sync.enqueue(document)
    }
    return member
  }

  /** @param {Holding} holding */
  function onSettled (holding) {
    if (!holding.over) return
    const { uid, guid } = holding
    if (guid === undefined) return touch(holding)
    if (uid === undefined) {
      if (documents.get(guid) === holding) documents.delete(guid)
      return
    }
    const user = users.get(uid)
    if (user === undefined || memberOf(user, guid) !== holding) return
    /** @type {Holding} */
    let before = user
    while (before.next !== holding) before = /** @type {Holding} */ (before.next)
    before.next = holding.next
    touch(user)
    const document = /** @type {HeldDocument} */ (documents.get(guid))
    if (--document.members === 0) release(document)
  }

  /** @param {Holding} user @returns {import('./contract.js').UserSessions} */
  function describe (user) {
    const uid = /** @type {string} */ (user.uid)
    /** @type {Session[]} */
    const sessions = []
    for (const connection of connectionsOf(uid)) {
      sessions.push({
        sid: connection.id,
        client: connection.client,
        transport: /** @type {Session['transport']} */ (connection.transport),
        lastSeen: connection.lastSeen,
        documents: connection.openDocuments()
      })
    }
    const away = []
    for (let member = user.next; member !== null; member = member.next)
      if (member.connections === 0) away.push(/** @type {string} */ (member.guid))
    return {
      sessions,
      away,
      end: sessions.length > 0 ? undefined : { sid: user.sid, reason: user.reason, at: wallTime(user.at) }
    }
  }

  async function writeUsers () {
    if (dirty.length === 0) return
    const changed = dirty
    dirty = []
    for (const user of changed) user.flags &= ~DIRTY
    const gone = changed.filter((user) => user.over)
    try {
      await store.write(
        name,
        changed.map((user) => [/** @type {string} */ (user.uid), user.over ? null : describe(user)])
      )
    } catch (error) {
      for (const user of changed) touch(user)
      throw error
    }
    for (const user of gone)
      if (user.over && !user.has(DIRTY) && users.get(/** @type {string} */ (user.uid)) === user)
        users.delete(/** @type {string} */ (user.uid))
  }

  /** Silent connections are closed, so one timestamp per worker covers all its sessions. */
  async function tellSeen () {
    const time = now()
    if (time - seenAt < SEEN_EVERY || users.size === 0) return
    await store.seen(name, clock.now() - silence)
    seenAt = time
  }

  async function cycle () {
    const left = now() - grace
    for (let holding = departures.take(left); holding !== undefined; holding = departures.take(left)) release(holding)
    // other workers may have cleaned up after this incarnation: data written for it now would never be deleted
    if (worker().held === false) return
    try {
      await sync.run(writeUsers)
      await tellSeen()
    } catch (error) {
      metrics.session_errors.inc()
      if (logLimit.due()) log.warn({ err: error }, 'sessions could not be written to the store, retrying')
    }
  }

  function run () {
    running ??= cycle().finally(() => {
      running = undefined
      if (users.size + documents.size + dirty.length + sync.size === 0) halt()
    })
    return running
  }

  function halt () {
    timer?.stop()
    timer = undefined
  }

  /** @returns {Iterable<Holding>} */
  function* all () {
    for (const user of users.values()) {
      for (let holding = /** @type {Holding | null} */ (user); holding !== null; holding = holding.next) yield holding
    }
    yield* documents.values()
  }

  metrics.onCollect(() => {
    metrics.sessions_pending.set(dirty.length + sync.size)
  })

  return {
    start () { started = true },

    /** The process that cleans up after this worker sends the remaining events, and those of users within the grace. */
    async stop () {
      started = false
      halt()
      const end = clock.monotonic() + STOP_TIME
      do await run()
      while (dirty.length + sync.size > 0 && clock.monotonic() < end && await clock.sleep(20) === undefined)
    },

    /** @param {Known} connection */
    connected ({ id, uid }) {
      if (timer === undefined && started) timer = clock.every(CYCLE, run).unref()
      let user = users.get(uid)
      if (user === undefined) users.set(uid, user = new Holding(uid, undefined))
      take(user, id)
      touch(user)
    },

    /** @param {Known} connection @param {string} guid */
    joined ({ id, uid }, guid) {
      const user = users.get(uid)
      if (user === undefined) return
      take(memberOf(user, guid) ?? addMember(user, guid), id)
      touch(user)
    },

    /** @param {Known} connection @param {string} guid @param {string} reason */
    left ({ id, uid }, guid, reason) {
      const user = users.get(uid)
      const member = user && memberOf(user, guid)
      if (user === undefined || member === undefined) return
      leave(member, id, reason)
      touch(user)
    },

    /** @param {Known} connection @param {string} reason */
    disconnected ({ id, uid }, reason) {
      const user = users.get(uid)
      if (user === undefined) return
      leave(user, id, reason)
      touch(user)
    },

    /** To be called when the store may have lost its data. */
    lost () {
      for (const user of users.values()) touch(user)
      for (const holding of all()) sync.repeat(holding, true)
    },

    /**
     * To be called when other processes consider the previous incarnation ended: they clean up after it, and this
     * worker registers all its holdings again.
     * @param {number} begun start of the new incarnation
     */
    reborn (begun) {
      name = incarnationName(number, begun)
      for (const holding of [...all()]) {
        // nor has it reported anything, also if `lost` was called before
        holding.flags &= ~(HELD | TOLD_HELD | TOLD_FREE)
        if (holding.has(AWAY)) release(holding)
        else sync.repeat(holding, false)
      }
      for (const user of users.values()) touch(user)
    },

    run
  }
}
