import { Value } from './value.js'

/** Estimate of what a member costs beside its bytes. */
const MEMBER_BYTES = 48

export class SetOfStrings extends Value {
  /** @type {Set<string>} */
  members = new Set()

  get type () { return 'set' }
  get size () { return this.members.size }
  get content () { return this.members }

  /** @param {Set<string>} members */
  fill (members) {
    for (const member of members) this.add(member)
  }

  /** @param {string} member @returns {boolean} it is new */
  add (member) {
    if (this.members.has(member)) return false
    this.members.add(member)
    this.grow(MEMBER_BYTES + member.length)
    return true
  }

  /** @param {string} member @returns {boolean} it was there */
  delete (member) {
    if (!this.members.delete(member)) return false
    this.grow(-MEMBER_BYTES - member.length)
    return true
  }
}
