import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { MISSING } from '../../log/bus/registry.js'
import { checkRooms, CYCLE } from './idle-check.js'
import { encodeBody } from './member-view.js'
import { joinAnswer } from './event-payload.js'
import { PAGE, READS, Room } from './room.js'
import { checkState } from './state-check.js'

/**
 * Presence in the documents of one worker. Connections that take no part have no state here.
 *
 * @typedef {import('./membership.js').Membership} Membership
 * @typedef {import('./membership.js').Participant} Participant
 * @typedef {{ presence: Membership | null }} Place a connection's state for a document that it has open
 */

/** Interval of the work of busy rooms, ms. */
const TICK = 20
/** Time that a stopping worker has to write its last changes, ms. */
const STOP_TIME = 2000

/**
 * @param {object} dependencies
 * @param {import('./contract.js').PresenceStore} dependencies.store
 * @param {Readonly<{ maxMembers: number, maxStateBytes: number, grace: number }>} dependencies.settings config.presence
 * @param {import('./room.js').RoomDependencies['createDelivery']} dependencies.createDelivery
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock for pauses
 * @param {import('../../base/common/random.js').Random} dependencies.random
 * @param {() => number} [dependencies.now] ms, monotonic
 * @param {number} [dependencies.cycle] of checkRooms, ms
 */
export function createPresence ({
  store, settings, createDelivery, metrics, log, clock, random, now = clock.monotonic, cycle = CYCLE
}) {
  /** @type {Map<string, Room>} bounded by the documents that connections have open */
  const rooms = new Map()
  /** @type {Set<Room>} */
  const busy = new Set()
  /**
   * Members with a lost connection, in the order in which their grace ends; bounded by the connections that can be lost
   * within the grace.
   * @type {Map<string, { membership: Membership, until: number }>}
   */
  const lapsing = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  /** @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
  let soon
  let stopped = false
  let members = 0
  const stopping = new AbortController()

  /** @type {import('./contract.js').PresenceHandlers} */
  const handlers = {
    onDiff: (guid, diff) => rooms.get(guid)?.receive(diff),
    onInterrupted: (guids) => {
      for (const guid of guids) rooms.get(guid)?.lose('interrupted')
    },
    // the comparison finds the missing data, and starts at once
    onLost: () => {
      check.soon = true
      lookForLeft()
      sweeping?.stop()
      sweeping = clock.timer(MISSING, sweep).unref()
    }
  }
  const check = { soon: false }
  /** Number of the newest loss: what was read before it proves nothing. */
  let losses = 0
  let looking = false

  /** The store may have members again whose departure it has lost, of documents in which this worker has no others. */
  async function lookForLeft () {
    losses++
    if (looking) return
    looking = true
    try {
      for (let looked = 0; looked !== losses;) {
        looked = losses
        const guids = await retry(() => store.documents(), {
          signal: stopping.signal, clock, backoff: new Backoff({ min: 100, random })
        })
        // the comparison looks at the quiet ones with members
        for (const room of guids.map(roomOf)) if (room.members.length === 0 || !room.quiet) room.lose('gap')
      }
    } catch {
      // stopped
    } finally {
      looking = false
    }
  }

  /** @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
  let sweeping

  async function sweep () {
    await retry(() => store.sweep(), { signal: stopping.signal, clock, backoff: new Backoff({ min: 100, random }) })
      .catch(() => {}) // stopped
  }

  /** @param {string} guid */
  function roomOf (guid) {
    let room = rooms.get(guid)
    if (room === undefined) rooms.set(guid, (room = new Room(guid, shared)))
    return room
  }

  const backoff = new Backoff({ min: 100, random })
  let closedUntil = 0
  const gate = {
    get open () {
      return now() >= closedUntil
    },
    ok () {
      backoff.reset()
    },
    /** @param {string} operation @param {unknown} error */
    failed (operation, error) {
      if (gate.open) closedUntil = now() + backoff.next()
      log.debug({ err: error, operation }, 'presence cannot be kept up to date, retrying')
    }
  }

  /** @type {import('./room.js').RoomDependencies} */
  const shared = {
    store, createDelivery, gate, now,
    maxMembers: settings.maxMembers,
    metrics,
    onBusy: (room) => wake(room)
  }

  /** @param {Room} [room] that was quiet: its first change is processed at once */
  function wake (room) {
    if (stopped) return
    if (room !== undefined) {
      busy.add(room)
      soon ??= clock.soon(tick)
    }
    timer ??= clock.every(TICK, tick).unref()
  }

  function tick () {
    const at = now()
    soon = undefined
    for (const [key, { membership, until }] of lapsing) {
      if (until > at) break
      lapsing.delete(key)
      membership.room.leave(membership, '~')
    }
    for (const room of busy) {
      if (room.work(at)) continue
      busy.delete(room)
      closeIfUnused(room)
    }
    if (busy.size > 0 || lapsing.size > 0) return
    timer?.stop()
    timer = undefined
  }

  /** @param {Room} room */
  function closeIfUnused (room) {
    if (!room.unused || rooms.get(room.guid) !== room) return
    rooms.delete(room.guid)
    store.unwatch(room.guid)
  }

  /**
   * The same client of the same user, in the same document.
   * @param {string} guid
   * @param {string} uid
   * @param {string} client
   */
  const keyOf = (guid, uid, client) => `${guid}\0${uid}\0${client}`

  /** @param {Membership} membership @param {'-' | '~'} op */
  function end (membership, op) {
    members--
    if (op === '-' || settings.grace === 0) return membership.room.leave(membership, op)
    membership.participant = null
    const key = keyOf(membership.room.guid, membership.uid, membership.client)
    // two memberships with the same key cannot be distinguished: keep one
    lapsing.get(key)?.membership.room.leave(/** @type {any} */ (lapsing.get(key)).membership, '~')
    lapsing.delete(key)
    lapsing.set(key, { membership, until: now() + settings.grace })
    wake()
  }

  metrics.onCollect(() => {
    metrics.presence_members.set(members)
    metrics.presence_documents.set(rooms.size)
    metrics.presence_lapsing.set(lapsing.size)
  })

  return {
    store,

    /** @throws {InkcastError} unavailable */
    async start () {
      await store.start(handlers)
      checkRooms({ rooms, store, gate, wanted: check, cycle, clock, signal: stopping.signal }).catch((error) => {
        if (!stopping.signal.aborted) log.error({ err: error }, 'presence is no longer compared with its store')
      })
    },

    /**
     * Adds a connection to the presence of a document that it has open; if it is a member already, sets its state, if
     * one is given.
     *
     * @param {Participant} participant
     * @param {string} guid
     * @param {Place} place
     * @param {object | undefined} state checked
     * @returns {Promise<{ members?: import('./contract.js').Member[], count?: number, version?: number, cursor?:
     *   string, countOnly?: boolean }>} without members if the store cannot be read; then the list follows later. The
     *   caller must send the answer without another await, so that the next message follows it
     */
    async join (participant, guid, place, state) {
      const body = encodeBody(participant.identity.name, state)
      let membership = place.presence
      if (membership !== null) {
        if (state !== undefined) membership.room.setState(membership, body)
      } else {
        const room = roomOf(guid)
        membership = place.presence = room.join(participant, body)
        members++
        const key = keyOf(guid, membership.uid, membership.client)
        const before = lapsing.get(key)
        if (before !== undefined) {
          // after the join, so that the user stays present
          lapsing.delete(key)
          room.leave(before.membership, '~')
        }
      }
      try {
        await membership.room.written(membership)
        return joinAnswer(await membership.room.page())
      } catch (error) {
        log.debug({ err: error, guid }, 'the answer to a join has no members')
        return {}
      }
    },

    /**
     * @param {Participant} participant
     * @param {Place} place of a document with this participant
     * @param {object} state checked
     */
    setState (participant, { presence }, state) {
      presence?.room.setState(presence, encodeBody(participant.identity.name, state))
    },

    /** @param {object} state @throws {InkcastError} bad_request, state_too_large */
    checkState (state) {
      checkState(state, settings.maxStateBytes)
    },

    /**
     * @param {Place} place of a document that a connection no longer has open
     * @param {boolean} lost the client may reconnect
     */
    leave (place, lost) {
      const { presence } = place
      if (presence === null) return
      place.presence = null
      end(presence, lost ? '~' : '-')
    },

    /**
     * @param {string} guid
     * @param {{ cursor?: string, limit?: number }} query
     * @returns {Promise<{ members: import('./contract.js').Member[], count: number, version: number, cursor?: string,
     *   countOnly?: true }>} never older than the last message to the document's members here
     * @throws {InkcastError} unavailable
     */
    async members (guid, { cursor, limit = PAGE }) {
      for (let read = 1; ; read++) {
        const { countOnly, ...page } = await store.page(guid, { after: cursor, limit })
        const room = rooms.get(guid)
        if (room?.isNewer(page.version)) {
          if (read < READS) continue
          // the store has lost data: send the list to all
          room.lose('gap')
        }
        return { ...page, ...(countOnly ? { countOnly: true } : {}) }
      }
    },

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
        if (presence.participant === participant) participant.deliver(createDelivery(room.guid, payload))
      } catch {
        // send the list to all when it can be read
        room.lose('gap')
      }
    },

    /** Writes all members again, because the store drops those of this worker's former incarnation. */
    renew () {
      for (const room of rooms.values()) room.renew()
    },

    /**
     * Waits for reconnects, at most for the grace, and writes the last changes. While the store is unavailable it
     * tries again, because one node of it may be down, and others have members to remove.
     * @param {number} wait ms at most
     */
    async stop (wait) {
      const latest = now() + wait
      const end = now() + Math.min(wait, settings.grace)
      while (lapsing.size > 0 && now() < end) await clock.sleep(TICK)
      for (const { membership } of lapsing.values()) membership.room.leave(membership, '~')
      lapsing.clear()
      stopping.abort(new InkcastError('unavailable', 'presence is stopped'))
      sweeping?.stop()
      const deadline = now() + STOP_TIME
      while (busy.size > 0 && now() < (gate.open ? deadline : Math.min(deadline, latest))) {
        for (const room of busy) room.work(Infinity) // the tick forgets those that are done
        await clock.sleep(TICK / 4)
      }
      stopped = true
      timer?.stop()
      await store.stop()
    }
  }
}
