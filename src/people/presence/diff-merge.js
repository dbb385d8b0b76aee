/**
 * The diffs of one document between two messages to its members, merged into one: the last form of a member counts.
 * It applies to any version since `from`.
 *
 * @typedef {import('./contract.js').Diff} Diff
 * @typedef {import('./contract.js').Member} Member
 */
export class Merge {
  /** @type {Map<string, Member>} by uid */
  joined = new Map()
  /** @type {Map<string, Member>} */
  changed = new Map()
  /** Their last connections, by uid. @type {Map<string, string[]>} */
  left = new Map()
  /** @type {string[]} */
  closed = []
  /** All connections that have ended. @type {string[]} */
  #removed = []
  /** A member came or changed, and then left: clients may know connections of it that ended before its last ones. */
  #leftChanged = false
  /** @type {Diff['kind']} */
  kind = 'diff'
  version = 0
  count = 0

  /** @param {number} from */
  constructor (from) { this.from = from }

  /** Members and connections in it. */
  get size () {
    const ended = this.#leftChanged ? this.#removed.length : 0
    return this.joined.size + this.changed.size + this.left.size + this.closed.length + ended
  }

  /** Connections that clients remove, each once; of members who stay, too. @returns {string[]} */
  get ended () {
    const ended = [...[...this.left.values()].flat(), ...this.closed]
    return this.#leftChanged ? [...new Set([...ended, ...this.#removed])] : ended
  }

  /** @param {Diff} diff the next one */
  add ({ version, count, kind, joined, changed, left, closed, removed }) {
    this.version = version
    this.count = count
    if (kind !== 'diff') this.#restart(kind)
    // the list is read when it is sent
    if (this.kind !== 'diff') return
    for (const member of joined) {
      // a member that left and joined again within one message has changed
      if (this.left.delete(member.uid)) this.changed.set(member.uid, member)
      else this.joined.set(member.uid, member)
    }
    for (const member of changed) (this.joined.has(member.uid) ? this.joined : this.changed).set(member.uid, member)
    for (const { uid, ids } of left) {
      if (this.joined.delete(uid) || this.changed.delete(uid)) this.#leftChanged = true
      // also members that no diff announced: a list that was read in between has them
      this.left.set(uid, ids)
    }
    this.closed.push(...closed)
    this.#removed.push(...removed)
  }

  /** Replaces the diff by the list, which is shorter. */
  asList () { this.#restart('list') }

  /** @param {Diff['kind']} kind */
  #restart (kind) {
    this.kind = kind
    this.joined.clear()
    this.changed.clear()
    this.left.clear()
    this.closed.length = 0
    this.#removed.length = 0
    this.#leftChanged = false
  }
}
