import { Backoff } from '../../base/common/backoff.js'
import { LogLimit } from '../../base/common/log-limit.js'
import {
  AWAY, Departures, DIRTY, HELD, HeldDocument, HeldUser, TOLD_FREE, TOLD_HELD, UNSURE, WANTED
} from './holding.js'
import { StoreSync } from './store-sync.js'
import { incarnationName } from '../workers/worker-watch.js'

/**
 * @typedef {import('./contract.js').Session} Session
 * @typedef {import('./holding.js').Holding} Holding
 *
 * @typedef {object} Known the required part of a connection
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {string} transport
 * @property {boolean} exclusive whether it is a device's (gateway/takeovers.js)
 * @property {string} listener
 * @property {number} lastSeen ms since 1970
 * @property {() => string[]} openDocuments
 */

/** Interval at which changes are written to the store while there are users, ms. */
const CYCLE = 200
/** Interval of `seen`, ms. */
const SEEN_EVERY = 15_000
/** Timeout for the last changes of a worker that stops, ms. */
const STOP_TIME = 2000
/** The reason of an end that the store has lost again. */
const LOST = 'worker_gone'
/** Reasons without a grace. */
const ON_PURPOSE = new Set(['left', 'revoked'])

/**
 * The sessions of one worker: its connected users and their open documents. A cycle writes changes to the store in
 * batches; handshakes and joins never wait for it. The business services receive events when a user is online or
 * offline, joins or leaves a document, and when a document is vacated (docs/kafka.md).
 *
 * A user whose connection ends is held for the grace: after a reconnect within it, here or to another worker, the user
 * counts as never having left.
 *
 * The order of writes makes sure that another process can clean up after a dead worker completely: first the table of
 * users, then the holdings; for a release the other way round. A document leaves the table with its last user before it
 * is released: the store lists it until then.
 */
export class Sessions {
  /** Bounded by the number of open connections and of those ended within the grace. @type {Map<string, HeldUser>} */
  #users = new Map()
  /** Bounded likewise. @type {Map<string, HeldDocument>} */
  #documents = new Map()
  /** Users whose sessions in the store are outdated, each once. @type {HeldUser[]} */
  #dirty = []
  /** Holdings within the grace. */
  #departures = new Departures()
  #started = false
  /** Runs while there are users. @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** The store may have entries again that this worker had released. */
  #mayHaveOlder = false
  /** The cycle that is running. @type {Promise<void> | undefined} */
  #cycle
  /** The incarnation as the store names it. */
  #name
  #begin
  #seenAt = 0
  /** After a failure of the store. */
  #resumeAt = 0
  #backoff
  #sync
  #log
  #clock
  #metrics
  #logLimit
  #parts

  /**
   * @param {Pick<import('../../observe/services.js').Services, 'log' | 'metrics' | 'clock' | 'random'>} services
   * @param {object} parts
   * @param {import('./contract.js').SessionStore} parts.store
   * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} parts.uplink
   * @param {() => { readonly number: number, readonly incarnation: number, readonly held?: boolean }} parts.worker
   *   held: false if the lease of its number may have ended
   * @param {(uid: string) => Iterable<Known>} parts.connectionsOf
   * @param {number} parts.grace ms
   * @param {number} parts.silence time without a packet after which a connection is closed, ms
   */
  constructor ({ log, metrics, clock, random }, parts) {
    const { store, uplink, worker } = this.#parts = parts
    this.#log = log
    this.#clock = clock
    this.#metrics = metrics
    this.#logLimit = new LogLimit({ clock })
    this.#backoff = new Backoff({ min: 100, random })
    this.#begin = clock.monotonic()
    this.#name = incarnationName(worker().number, worker().incarnation)
    this.#sync = new StoreSync({
      store, uplink,
      incarnation: () => this.#name,
      timeOf: (holding) => (holding.uid === undefined ? clock.now() : this.#wallTime(holding.at)),
      onSettled: (holding) => this.#onSettled(holding),
      log, clock, random
    })
    metrics.onCollect(() => metrics.sessions_pending.set(this.#pending))
  }

  start () { this.#started = true }

  /** The process that cleans up after this worker sends the remaining events, and those of users within the grace. */
  async stop () {
    this.#started = false
    this.#halt()
    this.#hurry()
    const end = this.#clock.monotonic() + STOP_TIME
    do await this.run()
    while (this.#pending > 0 && this.#clock.monotonic() < end && await this.#clock.sleep(20) === undefined)
  }

  /** @param {Known} connection */
  connected (connection) {
    const { uid } = connection
    this.#runOn()
    let user = this.#users.get(uid)
    if (user === undefined) this.#users.set(uid, user = new HeldUser(uid))
    this.#take(user, connection)
    this.#touch(user)
  }

  /** @param {Known} connection @param {string} guid */
  joined (connection, guid) {
    const user = this.#users.get(connection.uid)
    if (user === undefined) return
    this.#take(user.memberOf(guid) ?? this.#addMember(user, guid), connection)
    this.#touch(user)
  }

  /** @param {Known} connection @param {string} guid @param {string} reason */
  left (connection, guid, reason) {
    const user = this.#users.get(connection.uid)
    const member = user?.memberOf(guid)
    if (user === undefined || member == null) return
    this.#leave(member, connection, reason)
    this.#touch(user)
  }

  /** @param {Known} connection @param {string} reason */
  disconnected (connection, reason) {
    const user = this.#users.get(connection.uid)
    if (user === undefined) return
    this.#leave(user, connection, reason)
    this.#touch(user)
  }

  /** To be called when the store may have lost its data, or its last writes. */
  lost () {
    this.#mayHaveOlder = true
    this.#hurry()
    this.#runOn()
    for (const user of this.#users.values()) this.#touch(user)
    for (const holding of this.#all()) this.#sync.repeat(holding, true)
  }

  /**
   * To be called when other processes consider the previous incarnation ended: they clean up after it, and this
   * worker registers all its holdings again.
   * @param {number} begun start of the new incarnation
   */
  reborn (begun) {
    this.#name = incarnationName(this.#parts.worker().number, begun)
    for (const holding of [...this.#all()]) {
      // nor has it reported anything, also if `lost` was called before
      holding.flags &= ~(HELD | TOLD_HELD | TOLD_FREE)
      if (holding.has(AWAY)) this.#release(holding)
      else this.#sync.repeat(holding, false)
    }
    for (const user of this.#users.values()) this.#touch(user)
  }

  /** Writes what has changed; concurrent calls share a run. */
  run () {
    this.#cycle ??= this.#runCycle().finally(() => {
      this.#cycle = undefined
      if (this.#users.size + this.#documents.size + this.#pending === 0) this.#halt()
    })
    return this.#cycle
  }

  async #runCycle () {
    const { worker, grace } = this.#parts
    const left = this.#now() - grace
    for (let holding; (holding = this.#departures.take(left)) !== undefined;) this.#release(holding)
    // other workers may have cleaned up after this incarnation: data written for it now would never be deleted
    if (worker().held === false || this.#clock.monotonic() < this.#resumeAt) return
    try {
      if (this.#mayHaveOlder) await this.#releaseOlder()
      const failure = await this.#sync.run(() => this.#writeUsers())
      await this.#tellSeen()
      this.#backoff.reset()
      if (failure !== undefined) this.#onFailed(failure)
    } catch (error) {
      this.#resumeAt = this.#clock.monotonic() + this.#backoff.next()
      this.#onFailed(error)
    }
  }

  /** @param {unknown} error */
  #onFailed (error) {
    this.#metrics.session_errors.inc()
    if (this.#logLimit.due()) this.#log.warn({ err: error }, 'sessions could not be written to the store, retrying')
  }

  /** The store may be available again. */
  #hurry () {
    this.#resumeAt = 0
    this.#sync.hurry()
  }

  /**
   * A Redis that was restarted, or a replica, may lack the last writes: users who have left are there again. Their
   * entries are released once more. The table is read before it is written again.
   */
  async #releaseOlder () {
    this.#mayHaveOlder = false
    try {
      for await (const page of this.#parts.store.users(this.#name))
        for (const [uid, user] of page) this.#releaseUnknown(uid, user)
    } catch (error) {
      this.#mayHaveOlder = true
      throw error
    }
  }

  /** @param {string} uid @param {import('./contract.js').UserSessions} stored */
  #releaseUnknown (uid, { sessions, away, end }) {
    let user = this.#users.get(uid)
    const known = new Set(user === undefined ? [] : Array.from(user.members(), ({ guid }) => guid))
    const guids = new Set([...sessions.flatMap(({ documents }) => documents), ...away])
    /** @type {Holding[]} */
    const unknown = []
    if (user === undefined) {
      this.#users.set(uid, user = new HeldUser(uid))
      unknown.push(user)
    }
    for (const guid of guids) if (!known.has(guid)) unknown.push(this.#addMember(user, guid))
    const { sid = '', client, listener } = sessions.at(-1) ?? {}
    for (const holding of unknown) {
      holding.flags |= HELD
      holding.at = this.#now()
      holding.sid = end?.sid ?? sid
      holding.origin = listener === undefined ? undefined : { device: client, listener }
      holding.reason = end?.reason ?? LOST
      this.#release(holding)
    }
  }

  async #writeUsers () {
    if (this.#dirty.length === 0) return
    const changed = this.#dirty
    this.#dirty = []
    for (const user of changed) user.flags &= ~DIRTY
    const gone = changed.filter((user) => user.over)
    const { store } = this.#parts
    const ended = store.ended(gone.map(({ uid, at }) => [uid, this.#wallTime(at)]))
      .catch((/** @type {Error} */ error) => new Map(gone.map(({ uid }) => [uid, error])))
    try {
      await store.write(this.#name, changed.map((user) => [user.uid, user.over ? null : this.#describe(user)]))
    } catch (error) {
      for (const user of changed) this.#touch(user)
      throw error
    }
    const missed = await ended
    for (const user of gone) {
      if (missed.has(user.uid)) {
        // the node that did not respond has its holders as well: when these are written it is touched again
        user.flags |= UNSURE
        this.#sync.enqueue(user)
      } else if (user.over && !user.has(DIRTY) && this.#users.get(user.uid) === user) {
        this.#users.delete(user.uid)
      }
    }
  }

  /** Silent connections are closed, so one timestamp per worker covers all its sessions. */
  async #tellSeen () {
    const time = this.#now()
    if (time - this.#seenAt < SEEN_EVERY || this.#users.size === 0) return
    await this.#parts.store.seen(this.#name, this.#clock.now() - this.#parts.silence)
    this.#seenAt = time
  }

  /** @param {HeldUser} user @returns {import('./contract.js').UserSessions} */
  #describe (user) {
    const sessions = Array.from(this.#parts.connectionsOf(user.uid), (connection) => ({
      sid: connection.id,
      client: connection.client,
      transport: /** @type {Session['transport']} */ (connection.transport),
      lastSeen: connection.lastSeen,
      documents: connection.openDocuments(),
      ...(connection.exclusive && { listener: connection.listener })
    }))
    return {
      sessions,
      away: [...user.members()].filter((member) => member.connections === 0).map(({ guid }) => guid),
      end: sessions.length > 0
        ? undefined
        : { sid: user.sid, ...user.origin, reason: user.reason, at: this.#wallTime(user.at) }
    }
  }

  /** Users, members and documents with a pending write or event. */
  get #pending () { return this.#dirty.length + this.#sync.size }

  /** V8 allocates no memory for small integers. @returns {number} ms since the start of the worker */
  #now () { return Math.trunc(this.#clock.monotonic() - this.#begin) }

  /** By the current setting of the clock. @param {number} at a result of `#now` @returns {number} ms since 1970 */
  #wallTime (at) { return this.#clock.now() - (this.#now() - at) }

  #runOn () {
    if (this.#timer === undefined && this.#started) this.#timer = this.#clock.every(CYCLE, () => this.run()).unref()
  }

  #halt () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** @param {HeldUser} user */
  #touch (user) {
    if (user.has(DIRTY)) return
    user.flags |= DIRTY
    this.#dirty.push(user)
  }

  /** Adds a connection. @param {Holding} holding @param {Known} connection */
  #take (holding, connection) {
    holding.connections++
    if (holding.has(AWAY)) {
      holding.flags &= ~AWAY
    } else if (!holding.has(WANTED)) {
      holding.flags |= WANTED
      note(holding, connection)
      holding.at = this.#now()
      this.#sync.enqueue(holding)
    }
  }

  /** Removes a connection. @param {Holding} holding @param {Known} connection @param {string} reason */
  #leave (holding, connection, reason) {
    if (--holding.connections > 0) return
    note(holding, connection)
    holding.reason = reason
    holding.at = this.#now()
    if (ON_PURPOSE.has(reason)) return this.#release(holding)
    holding.flags |= AWAY
    this.#departures.add(holding)
  }

  /** @param {Holding} holding without a connection and without grace */
  #release (holding) {
    holding.flags &= ~(WANTED | AWAY)
    if (holding.pending) this.#sync.enqueue(holding)
    else this.#onSettled(holding)
  }

  /** @param {HeldUser} user @param {string} guid */
  #addMember (user, guid) {
    let document = this.#documents.get(guid)
    if (document === undefined) this.#documents.set(guid, document = new HeldDocument(guid))
    if (document.members++ === 0) {
      document.flags |= WANTED
      this.#sync.enqueue(document)
    }
    return user.addMember(guid)
  }

  /** @param {Holding} holding that the store and the services know as it is */
  #onSettled (holding) {
    if (!holding.over) return
    if (holding instanceof HeldUser) return this.#touch(holding)
    const guid = /** @type {string} */ (holding.guid)
    const document = this.#documents.get(guid)
    if (holding instanceof HeldDocument) {
      if (document === holding) this.#documents.delete(guid)
      return
    }
    const user = this.#users.get(/** @type {string} */ (holding.uid))
    if (user === undefined || !user.removeMember(holding)) return
    this.#touch(user)
    if (document !== undefined && --document.members === 0) this.#release(document)
  }

  /** @returns {Iterable<Holding>} */
  * #all () {
    for (const user of this.#users.values()) {
      yield user
      yield* user.members()
    }
    yield* this.#documents.values()
  }
}

/** @param {Holding} holding begins or ends with @param {Known} connection */
function note (holding, { id, exclusive, client, listener }) {
  holding.sid = id
  holding.origin = exclusive ? { device: client, listener } : undefined
}
