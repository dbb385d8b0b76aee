/**
 * A connection that takes part in the presence of documents.
 *
 * @typedef {object} Participant
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {{ name?: string }} identity
 * @property {(delivery: any, anyway?: boolean) => unknown} deliver anyway: even if its backlog is full
 */

/**
 * The document's presence on this worker (room.js).
 *
 * @typedef {object} MembershipRoom
 * @property {string} guid
 * @property {(membership: Membership, body: string) => void} setState
 * @property {(membership: Membership, op: '-' | '~') => void} leave
 * @property {(membership: Membership) => Promise<void>} written
 * @property {() => Promise<import('./contract.js').Page>} page
 * @property {() => Promise<import('./event-payload.js').Payload>} list
 * @property {(reason: 'gap') => void} lose
 */

/** One connection's part in one document. */
export class Membership {
  index = 0
  /** It gets the list and its changes, and is not in the list. */
  watches = false
  /** @param {MembershipRoom} room @param {Participant} participant @param {string} body */
  constructor (room, participant, body) {
    this.room = room
    /** Null: its connection is lost, and may be replaced within the grace. @type {Participant | null} */
    this.participant = participant
    this.id = participant.id
    this.uid = participant.uid
    this.client = participant.client ?? ''
    this.body = body
  }
}

/** Members with a lost connection, in the order in which their grace ends. */
export class Lapsing {
  /**
   * By keyOf; bounded by the connections that can be lost within the grace.
   * @type {Map<string, { membership: Membership, until: number }>}
   */
  #members = new Map()

  get size () { return this.#members.size }

  /** @param {Membership} membership @param {number} until ms; never before that of the last one */
  add (membership, until) {
    // two memberships with the same key cannot be distinguished: keep one
    this.end(membership)
    membership.participant = null
    this.#members.set(keyOf(membership), { membership, until })
  }

  /** Another membership replaces one with the same key. @param {Membership} by */
  end (by) {
    const key = keyOf(by)
    const before = this.#members.get(key)
    if (before === undefined) return
    this.#members.delete(key)
    before.membership.room.leave(before.membership, '~')
  }

  /** @param {number} now ms */
  expire (now) {
    for (const [key, { membership, until }] of this.#members) {
      if (until > now) return
      this.#members.delete(key)
      membership.room.leave(membership, '~')
    }
  }
}

/** The same client of the same user, in the same document. @param {Membership} membership */
const keyOf = ({ room: { guid }, uid, client }) => `${guid}\0${uid}\0${client}`
