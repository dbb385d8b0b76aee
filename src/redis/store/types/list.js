import { Value } from './value.js'

/** Estimate of what an item costs beside its bytes. */
const ITEM_BYTES = 24

export class List extends Value {
  /** @type {string[]} */
  items = []

  get type () { return 'list' }
  get size () { return this.items.length }
  get content () { return this.items }

  /** @param {string[]} items */
  fill (items) {
    for (const item of items) this.push(item)
  }

  /** @param {string} item */
  push (item) {
    this.items.push(item)
    this.grow(ITEM_BYTES + item.length)
  }

  /** @returns {string} the first one of a list that is not empty */
  shift () {
    const item = /** @type {string} */ (this.items.shift())
    this.grow(-ITEM_BYTES - item.length)
    return item
  }
}
