import { Value } from './value.js'

/**
 * @typedef {object} Scored
 * @property {string} member
 * @property {number} score
 */

/** Estimate of what a member costs beside its bytes. */
const MEMBER_BYTES = 140

/** Members by score, then by their bytes: an array in order, and the score of each member. */
export class SortedSet extends Value {
  /** @type {Scored[]} */
  items = []
  /** @type {Map<string, number>} */
  scores = new Map()

  get type () { return 'zset' }
  get size () { return this.items.length }
  get content () { return this.items }

  /** @param {Scored[]} items */
  fill (items) {
    for (const { member, score } of items) this.set(member, score)
  }

  /** @param {string} member @param {number} score */
  set (member, score) {
    const before = this.scores.get(member)
    if (before === score) return
    // -0 becomes 0
    score += 0
    if (before !== undefined) this.items.splice(this.#placeOf(member, before), 1)
    else this.grow(MEMBER_BYTES + member.length)
    this.scores.set(member, score)
    this.items.splice(this.#placeOf(member, score), 0, { member, score })
  }

  /** @param {string} member @returns {boolean} it was there */
  delete (member) {
    const rank = this.rank(member)
    if (rank !== undefined) this.deleteRange(rank, rank + 1)
    return rank !== undefined
  }

  /**
   * @param {number} from index
   * @param {number} to index after the last one
   * @returns {Scored[]} those that are removed
   */
  deleteRange (from, to) {
    const removed = this.items.splice(from, Math.max(0, to - from))
    for (const { member } of removed) {
      this.scores.delete(member)
      this.grow(-MEMBER_BYTES - member.length)
    }
    return removed
  }

  /** @param {string} member @returns {number | undefined} */
  rank (member) {
    const score = this.scores.get(member)
    return score === undefined ? undefined : this.#placeOf(member, score)
  }

  /**
   * @param {(item: Scored) => boolean} isBefore true for the first ones only
   * @returns {number} index of the first one for which it is false
   */
  firstNot (isBefore) {
    let least = 0
    let most = this.items.length
    while (least < most) {
      const middle = (least + most) >>> 1
      if (isBefore(this.items[middle])) least = middle + 1
      else most = middle
    }
    return least
  }

  /** @param {string} member @param {number} score */
  #placeOf (member, score) {
    return this.firstNot((item) => item.score < score || (item.score === score && item.member < member))
  }
}
