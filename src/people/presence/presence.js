import { Backoff } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { throughOutages } from '../../redis/through-outages.js'
import { encodeBody, isIdle } from './member-view.js'
import { Lapsing } from './membership.js'
import { joinAnswer } from './event-payload.js'
import { CYCLE, Repair } from './repair.js'
import { PAGE, READS, Room } from './room.js'
import { checkState } from './state-check.js'

/**
 * @typedef {import('./membership.js').Membership} Membership
 * @typedef {import('./membership.js').Participant} Participant
 * @typedef {{ presence: Membership | null }} Place a connection's state for a document that it has open
 * @typedef {{ state?: object, idle?: boolean }} OwnPart what others see of a connection; undefined: as before. The
 *   state is checked
 */

/** Interval of the work of busy rooms, ms. */
const TICK = 20
/** Time that a stopping worker has to write its last changes, ms. */
const STOP_TIME = 2000

/** Presence in the documents of one worker. Connections that take no part have no state here. */
export class Presence {
  /** Bounded by the documents that connections have open. @type {Map<string, Room>} */
  #rooms = new Map()
  /** Rooms with work. @type {Set<Room>} */
  #busy = new Set()
  #lapsing = new Lapsing()
  /** While rooms are busy or members are lapsing. @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** For rooms that were quiet. @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
  #soon
  /** `stopping`: the last changes are written, nothing is repaired. @type {'running' | 'stopping' | 'stopped'} */
  #state = 'running'
  #stopping = new AbortController()
  #members = 0
  #store
  #settings
  #createDelivery
  #log
  #clock
  #random
  #gate
  #repair
  /** @type {import('./room.js').RoomDependencies} */
  #shared

  /**
   * @param {Pick<import('../../observe/services.js').Services, 'log' | 'metrics' | 'clock' | 'random'>} services
   * @param {object} parts
   * @param {import('./contract.js').PresenceStore} parts.store
   * @param {Readonly<{ maxMembers: number, maxStateBytes: number, grace: number }>} parts.settings config.presence
   * @param {import('./room.js').RoomDependencies['createDelivery']} parts.createDelivery
   * @param {number} [parts.cycle] of the comparison with the store, ms
   */
  constructor ({ log, metrics, clock, random }, { store, settings, createDelivery, cycle = CYCLE }) {
    this.#store = store
    this.#settings = settings
    this.#createDelivery = createDelivery
    this.#log = log
    this.#clock = clock
    this.#random = random
    this.#gate = new Gate({ log, clock, random })
    this.#repair = new Repair({
      rooms: this.#rooms,
      roomOf: (guid) => this.#roomOf(guid),
      store, gate: this.#gate, cycle, clock, random,
      signal: this.#stopping.signal
    })
    this.#shared = {
      store, createDelivery, metrics,
      gate: this.#gate,
      now: clock.monotonic,
      maxMembers: settings.maxMembers,
      onBusy: (room) => this.#wake(room)
    }
    metrics.onCollect(() => {
      metrics.presence_members.set(this.#members)
      metrics.presence_documents.set(this.#rooms.size)
      metrics.presence_lapsing.set(this.#lapsing.size)
    })
  }

  /** Waits for Redis. @throws {InkcastError} internal */
  async start () {
    await throughOutages(() => this.#store.start({
      onDiff: (guid, diff) => this.#rooms.get(guid)?.receive(diff),
      onInterrupted: (guids) => { for (const guid of guids) this.#rooms.get(guid)?.lose('interrupted') },
      onLost: () => this.#repair.lost()
    }), { log: this.#log, clock: this.#clock, random: this.#random, signal: this.#stopping.signal })
    this.#repair.run().catch((error) => {
      if (this.#state === 'running') this.#log.error({ err: error }, 'presence is no longer compared with its store')
    })
  }

  /**
   * Adds a connection to the presence of a document that it has open; if it is a member already, sets its state, if
   * one is given.
   *
   * @param {Participant} participant
   * @param {string} guid
   * @param {Place} place
   * @param {OwnPart & { watches?: boolean }} [part] watches: without being in the list; no effect on a member
   * @returns {Promise<{ members?: import('./contract.js').Member[], count?: number, version?: number, cursor?:
   *   string, countOnly?: boolean }>} without members if the store cannot be read; then the list follows later. The
   *   caller must send the answer without another await, so that the next message follows it
   */
  async join (participant, guid, place, { watches = false, ...own } = {}) {
    let membership = place.presence
    if (membership === null) {
      const body = encodeBody(participant.identity.name, own.state, own.idle)
      membership = place.presence = this.#roomOf(guid).join(participant, body, watches)
      if (!watches) this.#listed(membership)
    } else if (own.state !== undefined || own.idle !== undefined || (membership.watches && !watches)) {
      this.#setOwn(membership, participant, own, watches && own.state === undefined)
    }
    try {
      await membership.room.written(membership)
      return joinAnswer(await membership.room.page())
    } catch (error) {
      this.#log.debug({ err: error, guid }, 'the answer to a join has no members')
      return {}
    }
  }

  /**
   * @param {Participant} participant
   * @param {Place} place of a document with this participant
   * @param {OwnPart} own one that watches becomes a member with a state
   */
  setOwn (participant, { presence }, own) {
    if (presence !== null) this.#setOwn(presence, participant, own, own.state === undefined)
  }

  /**
   * @param {Membership} membership
   * @param {Participant} participant
   * @param {OwnPart} own
   * @param {boolean} watches whether one that watches continues to
   */
  #setOwn (membership, { identity: { name } }, { state, idle }, watches) {
    const before = membership.body
    const body = encodeBody(name, state ?? JSON.parse(before).state, idle ?? isIdle(before))
    if (membership.watches && watches) {
      membership.body = body
      return
    }
    const isNew = membership.watches
    membership.room.setState(membership, body)
    if (isNew) this.#listed(membership)
  }

  /** @param {Membership} membership that is in the list from now on */
  #listed (membership) {
    this.#members++
    // after the join, so that the user stays present
    this.#lapsing.end(membership)
  }

  /** @param {object} state @throws {InkcastError} bad_request, state_too_large */
  checkState (state) { checkState(state, this.#settings.maxStateBytes) }

  /**
   * @param {Place} place of a document that a connection no longer has open
   * @param {boolean} lost the client may reconnect
   */
  leave (place, lost) {
    const membership = place.presence
    if (membership === null) return
    place.presence = null
    if (membership.watches) return membership.room.leave(membership, '-')
    this.#members--
    const { grace } = this.#settings
    if (!lost || grace === 0) return membership.room.leave(membership, lost ? '~' : '-')
    this.#lapsing.add(membership, this.#clock.monotonic() + grace)
    this.#wake()
  }

  /**
   * @param {string} guid
   * @param {{ cursor?: string, limit?: number }} query
   * @returns {Promise<{ members: import('./contract.js').Member[], count: number, version: number, cursor?: string,
   *   countOnly?: true }>} never older than what the document's members here have
   * @throws {InkcastError} unavailable
   */
  async members (guid, { cursor, limit = PAGE }) {
    for (let read = 1; ; read++) {
      const { countOnly, ...page } = await this.#store.page(guid, { after: cursor, limit })
      const room = this.#rooms.get(guid)
      if (room?.answer(page.version) === false) {
        if (read < READS) continue
        // the store has lost data: send the list to all
        room.lose('gap')
      }
      return { ...page, ...(countOnly ? { countOnly: true } : {}) }
    }
  }

  /**
   * @param {string} guid
   * @returns {Promise<import('./contract.js').Left[]>} see PresenceStore
   * @throws {InkcastError} unavailable
   */
  async left (guid) {
    const { users, full } = await this.#store.left(guid)
    this.#shared.metrics.presence_left.inc({ result: full ? 'full' : 'complete' })
    return users
  }

  /**
   * Sends the list to a participant that missed messages.
   * @param {Participant} participant
   * @param {Place} place
   */
  async refresh (participant, { presence }) {
    if (presence === null) return
    const { room } = presence
    try {
      const payload = await room.list()
      if (presence.participant === participant) participant.deliver(this.#createDelivery(room.guid, payload))
    } catch {
      // send the list to all when it can be read
      room.lose('gap')
    }
  }

  /** Writes all members again, because the store drops those of this worker's former incarnation. */
  renew () { for (const room of this.#rooms.values()) room.renew() }

  /**
   * Waits for reconnects, at most for the grace, and writes the last changes. While the store is unavailable it
   * tries again, because one node of it may be down, and others have members to remove.
   * @param {number} wait ms at most
   */
  async stop (wait) {
    const now = this.#clock.monotonic
    const latest = now() + wait
    const end = now() + Math.min(wait, this.#settings.grace)
    while (this.#lapsing.size > 0 && now() < end) await this.#clock.sleep(TICK)
    this.#lapsing.expire(Infinity)
    this.#state = 'stopping'
    this.#stopping.abort(new InkcastError('unavailable', 'presence is stopped'))
    const deadline = now() + STOP_TIME
    while (this.#busy.size > 0 && now() < (this.#gate.open ? deadline : Math.min(deadline, latest))) {
      for (const room of this.#busy) room.work(Infinity) // the tick forgets those that are done
      await this.#clock.sleep(TICK / 4)
    }
    this.#state = 'stopped'
    this.#timer?.stop()
    await this.#store.stop()
  }

  /** @param {string} guid */
  #roomOf (guid) {
    let room = this.#rooms.get(guid)
    if (room === undefined) this.#rooms.set(guid, (room = new Room(guid, this.#shared)))
    return room
  }

  /** @param {Room} [room] that was quiet: its first change is processed at once */
  #wake (room) {
    if (this.#state === 'stopped') return
    if (room !== undefined) {
      this.#busy.add(room)
      if (this.#soon === undefined) this.#soon = this.#clock.soon(this.#tick)
    }
    this.#timer ??= this.#clock.every(TICK, this.#tick).unref()
  }

  #tick = () => {
    const now = this.#clock.monotonic()
    this.#soon = undefined
    this.#lapsing.expire(now)
    for (const room of this.#busy) {
      if (room.work(now)) continue
      this.#busy.delete(room)
      this.#closeIfUnused(room)
    }
    if (this.#busy.size > 0 || this.#lapsing.size > 0) return
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** @param {Room} room */
  #closeIfUnused (room) {
    if (!room.unused || this.#rooms.get(room.guid) !== room) return
    this.#rooms.delete(room.guid)
    this.#store.unwatch(room.guid)
  }
}

/** The store after a failure: closed for a while, longer with each failure that follows. */
class Gate {
  #closedUntil = 0
  #backoff
  #log
  #now

  /** @param {Pick<import('../../observe/services.js').Services, 'log' | 'clock' | 'random'>} services */
  constructor ({ log, clock, random }) {
    this.#backoff = new Backoff({ min: 100, random })
    this.#log = log
    this.#now = clock.monotonic
  }

  get open () { return this.#now() >= this.#closedUntil }

  ok () { this.#backoff.reset() }

  /** @param {string} operation @param {unknown} error */
  failed (operation, error) {
    if (this.open) this.#closedUntil = this.#now() + this.#backoff.next()
    this.#log.debug({ err: error, operation }, 'presence cannot be kept up to date, retrying')
  }
}
