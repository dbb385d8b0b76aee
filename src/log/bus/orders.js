/**
 * Orders about users that last: a kick, a revoke of one document, a revoke or a ban for a time, and what takes them
 * back. For each user the time of the newest order of each kind, so that an order counts once however often it arrives,
 * and a revoked grant stays revoked. Redis keeps the same, under the same names (order.lua); a worker has the orders
 * about its own users only.
 *
 * | name | time |
 * |---|---|
 * | `k` | of the last kick |
 * | `r<guid>` | of the last revoke of a document: older tokens do not open it |
 * | `b<guid>` | until which no token opens a document |
 * | `u` | until which the user may not connect |
 * | `s<guid>` | of the last restore of a document; without a guid: of the end of a ban |
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {[order: string, at: number]} Order its name (`orderName`), and a time as above, ms since 1970
 */

/**
 * How long an order about a user is kept, s; one with a time of its own until then, if that is later. After that an
 * older token that is still valid opens the document again.
 */
export const ORDER_TTL = 7 * 86_400
/** Maximum number of orders kept about one user; above it `EVERY_DOCUMENT` replaces the oldest. */
export const MAX_ORDERS = 1000
/** Replaces the oldest revokes above `MAX_ORDERS`: every document counts as revoked at that time. */
export const EVERY_DOCUMENT = '*'
const KICK = 'k'
const BAN = 'u'

/** @param {string} guid */
const closedName = (guid) => `b${guid}`
/** @param {string} [guid] @returns {string} name of the restore that takes back orders about it */
export const restoreName = (guid = '') => `s${guid}`

/** @param {Pick<Publication, 'operator' | 'guid' | 'ttl'>} order kick, revoke or restore @returns {string} */
export function orderName ({ operator, guid, ttl }) {
  if (operator === 'restore') return restoreName(guid)
  if (operator === 'kick') return ttl === undefined ? KICK : BAN
  return ttl === undefined ? `r${guid}` : closedName(/** @type {string} */ (guid))
}

/** @param {string | undefined} guid @returns {string[]} names of the orders that a restore takes back */
export const restoredNames = (guid) => guid === undefined ? [BAN] : [`r${guid}`, closedName(guid)]

/**
 * @param {string} name
 * @returns {{ operator: 'kick' } | { operator: 'revoke', guid: string } | null} what to do to connections, if anything
 */
export function readOrderName (name) {
  if (name === KICK || name === BAN) return { operator: 'kick' }
  if (name === EVERY_DOCUMENT || name.startsWith(restoreName())) return null
  return { operator: 'revoke', guid: name.slice(1) }
}

export class Orders {
  /** By user; the caller bounds their number. @type {Map<string, Map<string, number>>} */
  #users = new Map()

  /** @param {Pick<import('../../base/common/clock.js').Clock, 'now'>} clock */
  constructor (clock) { this.clock = clock }

  get size () { return this.#users.size }

  /**
   * @param {string} uid
   * @param {string} name
   * @param {number} at ms since 1970
   * @returns {boolean} whether it is newer than the known order of this name
   */
  note (uid, name, at) {
    let orders = this.#users.get(uid)
    if (orders === undefined) this.#users.set(uid, orders = new Map())
    else if (at <= (orders.get(name) ?? -Infinity)) return false
    orders.delete(name)
    orders.set(name, at)
    if (orders.size > MAX_ORDERS) dropOldest(orders, this.clock.now())
    return true
  }

  /**
   * Notes a kick, revoke or restore.
   * @param {Pick<Publication, 'operator' | 'guid' | 'ttl'> & { uid: string }} order
   * @param {number} at when it was accepted, ms since 1970
   * @returns {boolean} whether it is to be carried out: it is new, and was not taken back
   */
  noteOrder (order, at) {
    const { operator, uid, guid, ttl } = order
    const name = orderName(order)
    if (operator === 'restore') {
      if (!this.note(uid, name, at)) return false
      for (const restored of restoredNames(guid)) this.#remove(uid, restored)
      return true
    }
    // one that overtook it on the way; a kick without a ban is not taken back
    if (name !== KICK && at < this.#restoredAt(uid, operator === 'kick' ? undefined : guid)) return false
    if (ttl === undefined) return this.note(uid, name, at)
    // also if one that ends later is known: that one has ended, the user is here again, and the clock was set back
    const known = this.#users.get(uid)?.get(name)
    return this.note(uid, name, at + ttl * 1000) || known !== at + ttl * 1000
  }

  /**
   * Notes the orders about a user that Redis had at some time.
   * @param {string} uid
   * @param {Order[]} orders
   * @returns {Order[]} those that are new
   */
  noteAll (uid, orders) {
    const times = new Map(orders)
    return orders.filter(([name, at]) => {
      if (name.startsWith(restoreName())) return this.#noteRestore(uid, name, at, times)
      const order = readOrderName(name)
      if (order !== null && name !== KICK) {
        const guid = order.operator === 'kick' ? undefined : order.guid
        const restoredAt = this.#restoredAt(uid, guid)
        // read before it was taken back
        if (restoredAt > (times.get(restoreName(guid)) ?? 0)) return false
      }
      return this.note(uid, name, at)
    })
  }

  /**
   * Notes a restore that Redis has: what it took back is not there any more, unless it was ordered again.
   * @param {string} uid @param {string} name @param {number} at @param {Map<string, number>} times of orders in Redis
   */
  #noteRestore (uid, name, at, times) {
    if (!this.note(uid, name, at)) return false
    for (const restored of restoredNames(name.slice(restoreName().length) || undefined)) {
      const known = this.#users.get(uid)?.get(restored) ?? 0
      // a revoke that is newer than the list
      if (!times.has(restored) && !(restored.startsWith('r') && known > at)) this.#remove(uid, restored)
    }
    return true
  }

  /** @param {string} uid @param {string} guid @returns {number} time of the last revoke, ms since 1970; 0: never */
  revokedAt (uid, guid) {
    const orders = this.#users.get(uid)
    return orders === undefined ? 0 : Math.max(orders.get(`r${guid}`) ?? 0, orders.get(EVERY_DOCUMENT) ?? 0)
  }

  /** @param {string} uid @param {string} guid @returns {number} until when no token opens it, ms since 1970, or 0 */
  closedUntil (uid, guid) { return this.#users.get(uid)?.get(closedName(guid)) ?? 0 }

  /** @param {string} uid @returns {number} time of the last kick or end of a ban, ms since 1970; 0: never */
  kickedAt (uid) {
    const orders = this.#users.get(uid)
    return orders === undefined ? 0 : Math.max(orders.get(KICK) ?? 0, orders.get(BAN) ?? 0)
  }

  /** @param {string} uid @returns {number} until when the user may not connect, ms since 1970, or 0 */
  bannedUntil (uid) { return this.#users.get(uid)?.get(BAN) ?? 0 }

  /** @returns {Generator<[uid: string, at: number]>} for each user the time of the newest order without an own end */
  * times () {
    for (const [uid, orders] of this.#users) {
      let newest = 0
      for (const [name, at] of orders) {
        const hasEnd = name === BAN || name.startsWith(closedName(''))
        if (!hasEnd) newest = Math.max(newest, at)
      }
      if (newest > 0) yield [uid, newest]
    }
  }

  /** For tests. @param {string} uid @returns {Order[]} */
  of (uid) { return [...this.#users.get(uid) ?? []] }

  /** @param {string} uid */
  forget (uid) { this.#users.delete(uid) }

  /** @param {string} uid @param {string} [guid] */
  #restoredAt (uid, guid) { return this.#users.get(uid)?.get(restoreName(guid)) ?? 0 }

  /** @param {string} uid @param {string} name */
  #remove (uid, name) { this.#users.get(uid)?.delete(name) }
}

/**
 * Drops the oldest orders; of revokes the last time stays, as `EVERY_DOCUMENT`.
 * @param {Map<string, number>} orders
 * @param {number} now ms since 1970
 */
function dropOldest (orders, now) {
  let revokedAt = orders.get(EVERY_DOCUMENT) ?? 0
  orders.delete(EVERY_DOCUMENT)
  for (const [name, at] of [...orders].sort(([, a], [, b]) => a - b)) {
    if (orders.size + (revokedAt > 0 ? 1 : 0) <= MAX_ORDERS) break
    orders.delete(name)
    // one that has not ended counts as a revoke of now: later tokens open the other documents
    if (readOrderName(name)?.operator === 'revoke') revokedAt = Math.max(revokedAt, Math.min(at, now))
  }
  if (revokedAt > 0) orders.set(EVERY_DOCUMENT, revokedAt)
}
