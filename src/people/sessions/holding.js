/**
 * A holding of a worker: a user (with a uid only), a document (with a guid only) or a user in a document (with both).
 * There are one or two for each connection, so holdings are small: states are bits of one number.
 */

/** The worker wants to hold it: it has connections, or the grace is not over. */
export const WANTED = 1
/** The store has this worker as a holder. */
export const HELD = 2
/** Its last connection has ended, the grace is not over. */
export const AWAY = 4
/** It is in the queue to the store. */
export const QUEUED = 8
/** A write to the store, or an event to the business services, is in progress. */
export const BUSY = 16
/** The report of this state to the services must be confirmed to the store. */
export const TOLD_HELD = 32
export const TOLD_FREE = 64
/** The state in the store is unknown: it is written again in any case. */
export const UNSURE = 128
/** Of a user: the sessions in the store are outdated. */
export const DIRTY = 256

/**
 * @template {string | undefined} [U=string | undefined]
 * @template {string | undefined} [G=string | undefined]
 */
export class Holding {
  flags = 0
  connections = 0
  /** From a user to its first holding in a document, from there to the next. @type {Holding<string, string> | null} */
  next = null
  /** Of a user, or a user in a document: time of the last begin or end, ms since the start of the worker. */
  at = 0
  /** The connection of the last begin or end. */
  sid = ''
  /** Of that connection; undefined: Socket.IO's. @type {import('./contract.js').Origin | undefined} */
  origin
  /** Reason of the last end. @type {string} */
  reason = ''

  /** @param {U} uid @param {G} guid */
  constructor (uid, guid) {
    this.uid = uid
    this.guid = guid
  }

  /** @param {number} bits */
  has (bits) { return (this.flags & bits) !== 0 }

  /** @param {Holding<string, string>} member becomes the next one */
  link (member) {
    member.next = this.next
    this.next = member
  }

  /** Whether there is a change to write to the store. */
  get pending () {
    const { flags } = this
    return (
      ((flags & WANTED) !== 0) !== ((flags & HELD) !== 0) ||
      (flags & (TOLD_HELD | TOLD_FREE | UNSURE)) !== 0
    )
  }

  /** Whether it can be deleted: without state here and in the store. */
  get over () {
    return (
      (this.flags & ~DIRTY) === 0 &&
      this.connections === 0 &&
      (this.uid === undefined || this.guid !== undefined || this.next === null)
    )
  }

  /** @returns {import('./contract.js').HoldingChange} to write to the store */
  change () {
    const { uid, guid, flags } = this
    const wanted = (flags & WANTED) !== 0
    // HELD was reported to the services: the release is reported even if the store has lost the entry since
    const known = !wanted && (flags & HELD) !== 0 ? '1' : ''
    const told = (flags & TOLD_HELD) !== 0 ? '1' : (flags & TOLD_FREE) !== 0 ? '0' : known
    // a document has an event for its last member only, so its first one counts as reported
    if (uid === undefined) return { guid, op: wanted ? '+' : '-', told: wanted ? '1' : told }
    // '+' again for a held one: a store that has lost its data would reply to '=' that there is no holder
    return { uid, guid, op: wanted ? '+' : (flags & (HELD | UNSURE)) !== 0 ? '-' : '=', told }
  }
}

/** @extends {Holding<string, undefined>} */
export class HeldUser extends Holding {
  /** @param {string} uid */
  constructor (uid) { super(uid, undefined) }

  * members () {
    for (let member = this.next; member !== null; member = member.next) yield member
  }

  /** @param {string} guid */
  memberOf (guid) {
    let member = this.next
    while (member !== null && member.guid !== guid) member = member.next
    return member
  }

  /** @param {string} guid */
  addMember (guid) {
    const member = new Holding(this.uid, guid)
    this.link(member)
    return member
  }

  /** @param {Holding} member @returns {boolean} whether it was one */
  removeMember (member) {
    /** @type {Holding} */
    let before = this
    for (; before.next !== null; before = before.next) {
      if (before.next !== member) continue
      before.next = member.next
      return true
    }
    return false
  }
}

/**
 * A document with members on this worker, including those within the grace.
 * @extends {Holding<undefined, string>}
 */
export class HeldDocument extends Holding {
  /** Number of held users in it. */
  members = 0

  /** @param {string} guid */
  constructor (guid) { super(undefined, guid) }
}

/** Holdings without a connection, in the order in which their grace ends. */
export class Departures {
  /** @type {{ holding: Holding, at: number }[]} bounded by the number of departures within the grace */
  #list = []
  #first = 0

  /** @param {Holding} holding with its `at` set */
  add (holding) { this.#list.push({ holding, at: holding.at }) }

  /**
   * @param {number} until ms since the start of the worker
   * @returns {Holding | undefined} the next one that ended at this time or before, and has no new connection
   */
  take (until) {
    for (;;) {
      const departure = this.#list[this.#first]
      if (departure === undefined || departure.at > until) {
        this.#list.splice(0, this.#first)
        this.#first = 0
        return undefined
      }
      this.#first++
      const { holding, at } = departure
      // an outdated entry: a new connection has come, and possibly ended again later
      if (holding.has(AWAY) && holding.at === at) return holding
    }
  }
}
