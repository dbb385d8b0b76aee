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
    for (const item of items) this.push(item, false)
  }

  /** @param {string} item @param {boolean} atHead */
  push (item, atHead) {
    if (atHead) this.items.unshift(item)
    else this.items.push(item)
    this.grow(ITEM_BYTES + item.length)
  }

  /** @param {number} count @param {boolean} atHead @returns {string[]} in the order of removal */
  pop (count, atHead) {
    const popped = atHead ? this.items.splice(0, count) : this.items.splice(Math.max(0, this.size - count)).reverse()
    for (const item of popped) this.grow(-ITEM_BYTES - item.length)
    return popped
  }
}
