import { LogLimit } from '../common/log-limit.js'
import { createStoreSync } from './store-sync.js'
import { AWAY, Departures, DIRTY, HELD, Holding, WANTED } from './holding.js'
import { incarnationName } from '../workers/worker-watch.js'

/**
 * The sessions of one worker: who is connected here and has which documents open. What others may ask for is brought to
 * the store on a cycle of its own, in batches; nothing of a handshake or a join waits for it. The business services are
 * told when a user is online and offline, has joined and left a document, and that a document was vacated
 * (docs/kafka.md).
 *
 * Who leaves without saying so, that is whose connection ends, is held for a grace: if he is back by then, here or on
 * another worker, he was never away.
 *
 * The order of writing keeps what a dead worker left behind complete: the table of its users first, then what is held;
 * when something is let go, the other way round.
 *
 * @typedef {import('./contract.js').Session} Session
 *
 * @typedef {object} Known what is asked of a connection
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {string} transport
 * @property {number} lastSeen ms since 1970
 * @property {() => string[]} openDocuments
 */

/** @typedef {ReturnType<typeof createSessions>} Sessions */

/** How often what has changed is brought to the store, ms. */
const CYCLE = 200
/** How often the store is told that all connections are still heard of, ms. */
const SEEN_EVERY = 15_000
/** How long the last changes of a worker that stops may take, ms. */
const STOP_TIME = 2000
/** A document that is left on purpose is left at once. */
const ON_PURPOSE = new Set(['left', 'revoked'])

/** A document that somebody here has open, or had a moment ago. */
class OpenDocument extends Holding {
  /** Users of it that are held. */
  members = 0
}

/**
 * @param {object} dependencies
 * @param {import('./contract.js').SessionStore} dependencies.store
 * @param {Pick<import('../uplink/contract.js').Uplink, 'send'>} dependencies.uplink
 * @param {() => { readonly number: number, readonly incarnation: number, readonly held?: boolean }} dependencies.worker
 *   held: false where the lease of its number may have ended
 * @param {(uid: string) => Iterable<Known>} dependencies.connectionsOf
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {number} dependencies.grace ms
 * @param {number} dependencies.silence how long nothing may be heard from a connection until it is closed, ms
 */
export function createSessions ({ store, uplink, worker, connectionsOf, metrics, log, clock, grace, silence }) {
  const begin = clock.monotonic()
  /** Small numbers need no memory of their own. @returns {number} ms since the worker began */
  const now = () => Math.trunc(clock.monotonic() - begin)
  /** By the clock as it is set now. @param {number} at as `now` had it @returns {number} ms since 1970 */
  const wallTime = (at) => clock.now() - (now() - at)
  const { number, incarnation } = worker()
  let name = incarnationName(number, incarnation)
  /** Bounded by the connections there are, and that have ended within the grace. @type {Map<string, Holding>} */
  const users = new Map()
  /** Bounded likewise. @type {Map<string, OpenDocument>} */
  const documents = new Map()
  /** Users of whom the store does not know what there is now, each once. @type {Holding[]} */
  let dirty = []
  const departures = new Departures()
  const sync = createStoreSync({
    store,
    uplink,
    incarnation: () => name,
    timeOf: (holding) => (holding.uid === undefined ? clock.now() : wallTime(holding.at)),
    onSettled,
    log,
    clock
  })
  /** @type {NodeJS.Timeout | undefined} */
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

  /** Somebody is there. @param {Holding} holding @param {string} sid */
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

  /** Somebody has gone. @param {Holding} holding @param {string} sid @param {string} reason */
  function leave (holding, sid, reason) {
    if (--holding.connections > 0) return
    holding.sid = sid
    holding.reason = reason
    holding.at = now()
    if (ON_PURPOSE.has(reason)) return release(holding)
    holding.flags |= AWAY
    departures.add(holding)
  }

  /** @param {Holding} holding that nobody has any more */
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
    if (document === undefined) documents.set(guid, document = new OpenDocument(undefined, guid))
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
    const document = /** @type {OpenDocument} */ (documents.get(guid))
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

  /** Whoever were silent for longer would be gone: nothing is to be written for each, however many there are. */
  async function tellSeen () {
    const time = now()
    if (time - seenAt < SEEN_EVERY || users.size === 0) return
    await store.seen(name, clock.now() - silence)
    seenAt = time
  }

  async function cycle () {
    const left = now() - grace
    for (let holding = departures.take(left); holding !== undefined; holding = departures.take(left)) release(holding)
    // to others this incarnation may have ended, and been cleaned up: what is written for it now would stay for ever
    if (worker().held === false) return
    try {
      await sync.run(writeUsers)
      await tellSeen()
    } catch (error) {
      metrics.session_errors.inc()
      if (logLimit.due()) log.warn({ err: error }, 'sessions could not be brought to the store, trying again')
    }
  }

  function run () {
    running ??= cycle().finally(() => { running = undefined })
    return running
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
    start () { timer ??= setInterval(run, CYCLE).unref() },

    /** What is still to be told, and whose grace is not over, is told by whoever cleans up after this worker. */
    async stop () {
      clearInterval(timer)
      const end = clock.monotonic() + STOP_TIME
      do await run()
      while (dirty.length + sync.size > 0 && clock.monotonic() < end && await clock.sleep(20) === undefined)
    },

    /** @param {Known} connection */
    connected ({ id, uid }) {
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

    /** The store may have lost what it knew. */
    lost () {
      for (const user of users.values()) touch(user)
      for (const holding of all()) sync.repeat(holding, true)
    },

    /**
     * Others have taken us for dead: whatever we held is theirs to clean up, and what we hold is taken anew.
     * @param {number} begun of the new incarnation
     */
    reborn (begun) {
      name = incarnationName(number, begun)
      for (const holding of [...all()]) {
        holding.flags &= ~HELD
        if (holding.has(AWAY)) release(holding)
        else sync.repeat(holding, false)
      }
      for (const user of users.values()) touch(user)
    },

    run
  }
}
