/**
 * What a worker holds: a user (with a uid only), a document (with a guid only) or a user in a document (with both).
 * There is one or two of them for each connection, so it is small: states are bits of one number.
 */

/** It should be held: somebody is there, or left so short a time ago that he may come back. */
export const WANTED = 1
/** The store has it so. */
export const HELD = 2
/** Its last connection has gone, the grace is not over. */
export const AWAY = 4
/** It waits for its turn to be brought to the store. */
export const QUEUED = 8
/** It is on its way to the store, or to the business services. */
export const BUSY = 16
/** The store is to hear that this was told to the services. */
export const TOLD_HELD = 32
export const TOLD_FREE = 64
/** It is not known whether the store has it as it should: it is told, whatever was told before. */
export const UNSURE = 128
/** Of a user: what the store knows of his sessions is no longer right. */
export const DIRTY = 256

export class Holding {
  flags = 0
  connections = 0
  /** Of a user: the first one of his in a document. Of one of these: the next. @type {Holding | null} */
  next = null
  /** Of a user, and of one in a document: when it was last taken or left, ms since the worker began. */
  at = 0
  /** The connection that took or left it last. */
  sid = ''
  /** Why it was left. @type {string} */
  reason = ''

  /** @param {string | undefined} uid @param {string | undefined} guid */
  constructor (uid, guid) {
    this.uid = uid
    this.guid = guid
  }

  /** @param {number} bits */
  has (bits) {
    return (this.flags & bits) !== 0
  }

  /** Whether the store has to hear of it. */
  get pending () {
    const { flags } = this
    return (
      ((flags & WANTED) !== 0) !== ((flags & HELD) !== 0) ||
      (flags & (TOLD_HELD | TOLD_FREE | UNSURE)) !== 0
    )
  }

  /** Whether nothing is left of it, here and in the store. */
  get over () {
    return (
      (this.flags & ~DIRTY) === 0 &&
      this.connections === 0 &&
      (this.uid === undefined || this.guid !== undefined || this.next === null)
    )
  }

  /** @returns {import('./contract.js').Change} what the store has to hear */
  change () {
    const { uid, guid, flags } = this
    const wanted = (flags & WANTED) !== 0
    // what the store has, the services know: where the store has lost it since, that it is let go is told all the same
    const known = !wanted && (flags & HELD) !== 0 ? '1' : ''
    const told = (flags & TOLD_HELD) !== 0 ? '1' : (flags & TOLD_FREE) !== 0 ? '0' : known
    // nobody is told that a document has members: that it has none any more is what counts
    if (uid === undefined) return { guid, op: wanted ? '+' : '-', told: wanted ? '1' : told }
    // '+' once more where it is held: a store that has been emptied would answer a '=' that nobody holds it
    return { uid, guid, op: wanted ? '+' : (flags & (HELD | UNSURE)) !== 0 ? '-' : '=', told }
  }
}

/** Holdings that nobody has any more, by when their grace is over. */
export class Departures {
  /** @type {{ holding: Holding, at: number }[]} in their order; bounded by how many can come and go within the grace */
  #list = []
  #first = 0

  get size () { return this.#list.length - this.#first }

  /** @param {Holding} holding with its time */
  add (holding) { this.#list.push({ holding, at: holding.at }) }

  /**
   * @param {number} until ms since the worker began
   * @returns {Holding | undefined} the next one that was left before that, and to which nobody has come back
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
      // it may have been left once more, later
      if (holding.has(AWAY) && holding.at === at) return holding
    }
  }
}
