/**
 * The members of a document on one page, kept by the rules of docs/protocol-details.md (Presence), and what a
 * connection must
 * not get.
 *
 * @typedef {import('../../../client/presence/presence.js').Member} Member
 *
 * @typedef {object} Message an answer to a join or to `doc:members`, or a `doc:presence`
 * @property {number} version
 * @property {number} count
 * @property {Member[]} [members]
 * @property {string} [cursor]
 * @property {boolean} [countOnly]
 * @property {number} [from]
 * @property {Member[]} [joined]
 * @property {Member[]} [changed]
 * @property {string[]} [left]
 */
export class PresenceChecker {
  /** @type {Map<string, Member>} */
  members = new Map()
  /** On this connection. @type {number | undefined} */
  #version
  lists = 0
  updates = 0
  ignored = 0

  /**
   * @param {string} name of the page and the document
   * @param {(sentence: string) => void} violation
   * @param {() => boolean} mayBeOlder whether Redis may have lost its data: then a list may be older
   * @param {boolean} [isSlow] whether changes may be dropped, as the page reads too little
   */
  constructor (name, violation, mayBeOlder, isSlow = false) {
    this.name = name
    this.violation = violation
    this.mayBeOlder = mayBeOlder
    this.isSlow = isSlow
  }

  /** A connection begins. */
  connected () { this.#version = undefined }

  /** Rule 1. @param {Message} message with members */
  list ({ members = [], version, count, cursor }) {
    this.lists++
    if (!this.mayBeOlder()) this.#notOlder(version)
    this.#version = version
    this.members = new Map(members.map((member) => [member.uid, member]))
    if (cursor === undefined && members.length !== count)
      this.violation(`${this.name}: a list of ${members.length} members with the count ${count}`)
  }

  /** A `doc:presence`. @param {Message} message @returns {boolean} false: the members have to be requested (rule 3) */
  update (message) {
    if (message.members !== undefined) {
      this.list(message)
      return true
    }
    const { version, from = 0, joined = [], changed = [], left = [], count } = message
    this.#notOlder(version)
    if (this.#version === undefined) return false
    if (version <= this.#version) {
      this.ignored++
      return true
    }
    if (from > this.#version) {
      if (!this.isSlow) this.violation(`${this.name}: presence from version ${from}, and the page has ${this.#version}`)
      return false
    }
    this.updates++
    this.#version = version
    const gone = new Set(left)
    for (const [uid, { id, connections = [{ id }] }] of this.members)
      if (connections.every((connection) => gone.has(connection.id))) this.members.delete(uid)
    for (const member of [...joined, ...changed]) this.members.set(member.uid, member)
    if (this.members.size !== count)
      this.violation(`${this.name}: ${this.members.size} members at version ${version} with the count ${count}`)
    return true
  }

  /** @param {number} version */
  #notOlder (version) {
    if (this.#version !== undefined && version < this.#version)
      this.violation(`${this.name}: presence of version ${version} after ${this.#version}`)
  }
}

/**
 * The connections of members and their states, in one order.
 * @param {Iterable<Member>} members
 * @returns {string}
 */
export const shownMembers = (members) => [...members]
  .map(({ uid, id, state, connections = [{ id, state }] }) =>
    `${uid}: ${connections.map((one) => `${one.id} ${JSON.stringify(one.state)}`).sort().join(', ')}`)
  .sort().join('; ')
