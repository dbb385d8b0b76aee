/**
 * Orders about users: a kick, or a revoke of one document. For each user the time of the newest order of each kind, so
 * that an order counts once however often it arrives, and a revoked grant stays revoked. Redis keeps the same for seven
 * days, under the same names (order-2.lua); a worker has the orders about its own users only.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {[order: string, at: number]} Order its name (`orderName`), and when it was accepted, ms since 1970
 */

/**
 * How long an order about a user is kept, s. After that an older token that is still valid opens the document again.
 */
export const ORDER_TTL = 7 * 86_400
/** Maximum number of orders kept about one user; above it `EVERY_DOCUMENT` replaces the oldest. */
export const MAX_ORDERS = 1000
/** Replaces the oldest revokes above `MAX_ORDERS`: every document counts as revoked at that time. */
export const EVERY_DOCUMENT = '*'
const KICK = 'k'

/** @param {Pick<Publication, 'operator' | 'guid'>} order @returns {string} */
export const orderName = ({ operator, guid }) => operator === 'kick' ? KICK : `r${guid}`

/**
 * @param {string} name
 * @returns {{ operator: 'kick' } | { operator: 'revoke', guid: string } | null} null: a revoke of every document
 */
export function readOrderName (name) {
  if (name === KICK) return { operator: 'kick' }
  return name === EVERY_DOCUMENT ? null : { operator: 'revoke', guid: name.slice(1) }
}

export class Orders {
  /** @type {Map<string, Map<string, number>>} by user, ordered by the time of the last order, oldest first */
  #users = new Map()

  /**
   * @param {number} [maxUsers] above it the user whose last order is the oldest is dropped; default: the caller bounds
   *   the number of users
   */
  constructor (maxUsers = Infinity) {
    this.maxUsers = maxUsers
  }

  get size () { return this.#users.size }

  /**
   * @param {string} uid
   * @param {string} name
   * @param {number} at ms since 1970
   * @returns {boolean} whether it is newer than the known order of this name
   */
  note (uid, name, at) {
    let orders = this.#users.get(uid)
    if (orders === undefined) {
      if (this.#users.size >= this.maxUsers) this.#users.delete(/** @type {string} */ (this.#users.keys().next().value))
      orders = new Map()
    } else if (at <= (orders.get(name) ?? -Infinity)) {
      return false
    }
    this.#users.delete(uid)
    this.#users.set(uid, orders)
    orders.delete(name)
    orders.set(name, at)
    if (orders.size > MAX_ORDERS) dropOldest(orders)
    return true
  }

  /** @param {string} uid @param {string} guid @returns {number} time of the last revoke, ms since 1970; 0: never */
  revokedAt (uid, guid) {
    const orders = this.#users.get(uid)
    return orders === undefined ? 0 : Math.max(orders.get(`r${guid}`) ?? 0, orders.get(EVERY_DOCUMENT) ?? 0)
  }

  /** @param {string} uid @returns {Order[]} */
  of (uid) { return [...this.#users.get(uid) ?? []] }

  /** @param {string} uid */
  forget (uid) { this.#users.delete(uid) }

  /** Drops users without an order in the last `ORDER_TTL`. @param {number} now ms since 1970 */
  sweep (now) {
    for (const [uid, orders] of this.#users) {
      if (Math.max(...orders.values()) > now - ORDER_TTL * 1000) return
      this.#users.delete(uid)
    }
  }
}

/** Replaces the two oldest orders with `EVERY_DOCUMENT`. @param {Map<string, number>} orders */
function dropOldest (orders) {
  const [[first], [second, at]] = [...orders].sort(([, a], [, b]) => a - b)
  orders.delete(first)
  orders.delete(second)
  orders.set(EVERY_DOCUMENT, at)
}
