import { RedisHistory } from './redis-history.js'

/**
 * Orders of a service about the rights of users, for the promises of docs/auth.md, docs/api.md and docs/kafka.md:
 * after the answer to an order, nothing that it forbids happens any more, and nothing happens that no order says.
 *
 * @typedef {'revoke' | 'restore' | 'kick' | 'restore user' | 'close' | 'leave' | 'join'} OrderKind
 *
 * @typedef {object} Order
 * @property {OrderKind} kind
 * @property {string} uid '' for a close, which is about everyone
 * @property {string} guid '' for orders about connections
 * @property {number | undefined} ttl s
 * @property {number} begunAt virtual ms
 * @property {number} answeredAt virtual ms; Infinity: not yet
 * @property {boolean} isSure its first request was answered with 2xx. A request without this answer may have reached
 *   the cluster, and may be carried out later than the one that repeats it
 *
 * @typedef {object} Membership a document as a page has it open
 * @property {number} askedAt when the page asked for it, or learned that a service has opened it, virtual ms
 * @property {number} joinedAt when it learned that it is open, virtual ms
 *
 * @typedef {object} Line a connection of a page, as the page sees it
 * @property {string} page
 * @property {string} uid
 * @property {string} sid
 * @property {number} begunAt virtual ms
 * @property {number} connectedAt virtual ms
 * @property {number} iat s; the newest one of the tokens that it has sent
 * @property {Set<string>} asked documents of its handshake
 * @property {Set<string>} unsure documents that it opened or left without an answer in time
 * @property {Map<string, Membership>} documents
 */

/** Age that a worker's knowledge of the clock of Redis may have, ms: three renewals of its lease. */
const KNOWN_CLOCK = 12_000

export class RightsLedger {
  /** @type {Order[]} */
  orders = []
  /**
   * @param {object} parts
   * @param {import('../world/world.js').World} parts.world
   * @param {import('../parts/cluster.js').Cluster} parts.cluster
   */
  constructor ({ world, cluster }) {
    this.world = world
    this.redis = new RedisHistory(world, cluster.redis.servers)
  }

  /**
   * @param {OrderKind} kind
   * @param {{ uid?: string, guid?: string, ttl?: number }} of
   * @returns {Order} for `answered`
   */
  begin (kind, { uid = '', guid = '', ttl }) {
    const order = { kind, uid, guid, ttl, begunAt: this.world.time, answeredAt: Infinity, isSure: false }
    this.orders.push(order)
    return order
  }

  /** @param {Order} order @param {boolean} isSure */
  answered (order, isSure) {
    order.answeredAt = this.world.time
    order.isSure = isSure
  }

  /**
   * @param {Line} line
   * @param {string} guid
   * @param {number} at when the action began, virtual ms
   * @returns {string | undefined} why the user certainly had no right to it from then until now
   */
  withdrawn (line, guid, at) {
    const { uid, iat } = line
    for (const order of this.#answered('revoke', uid, guid, at)) {
      if (this.#mayBeLost(order) || this.#wasRestored(order, 'restore')) continue
      const from = this.redis.earliest(order.begunAt, order.answeredAt)
      const isForbidden = order.ttl === undefined
        ? iat * 1000 <= from
        : this.redis.latest(at - KNOWN_CLOCK, this.world.time) < from + order.ttl * 1000
      if (isForbidden) return `${order.ttl === undefined ? 'a revoke' : 'a revoke with a time'} of ${this.#ago(order)}`
    }
    return undefined
  }

  /**
   * @param {Line} line
   * @param {number} at when the action began, virtual ms
   * @returns {string | undefined} why the connection was certainly ended before
   */
  ended (line, at) {
    const order = this.#answered('kick', line.uid, '', at)
      .find((kick) => line.connectedAt < kick.begunAt && !this.#mayBeLost(kick))
    return order && `a kick of ${this.#ago(order)}`
  }

  /** @param {string} uid @param {number} at when the handshake began @returns {string | undefined} */
  banned (uid, at) {
    const ban = this.#answered('kick', uid, '', at).find((order) =>
      order.ttl !== undefined && !this.#mayBeLost(order) && !this.#wasRestored(order, 'restore user') &&
      this.redis.latest(at - KNOWN_CLOCK, this.world.time) <
        this.redis.earliest(order.begunAt, order.answeredAt) + order.ttl * 1000)
    return ban && `a ban of ${this.#ago(ban)}`
  }

  /**
   * @param {Line} line
   * @param {string} guid
   * @param {number} at when the action began, virtual ms
   * @returns {string | undefined} why the document was certainly taken off the connection before
   */
  closed (line, guid, at) {
    const { uid, documents } = line
    const joinedAt = documents.get(guid)?.joinedAt ?? Infinity
    const order = [...this.#answered('close', '', guid, at), ...this.#answered('leave', uid, guid, at)]
      .find((one) => joinedAt < one.begunAt && !this.#mayBeLost(one) && !this.#mayBeOpened(one))
    return order && `a ${order.kind} of ${this.#ago(order)}`
  }

  /**
   * A page got something that only an order may cause.
   * @param {OrderKind[]} kinds
   * @param {string} uid
   * @param {string} guid
   * @param {number} since when what it ends, or changes, began, virtual ms
   * @returns {boolean} whether an order may have caused it
   */
  isOrdered (kinds, uid, guid, since) {
    return this.orders.some((order) =>
      kinds.includes(order.kind) && (order.uid === '' || order.uid === uid) && order.guid === guid &&
      (order.answeredAt >= since || !order.isSure || this.#mayLast(order)))
  }

  /**
   * A worker that does not know yet that the clock of Redis was set back lets a user in, and ends that when it knows.
   * @param {Order} order
   */
  #mayLast ({ ttl, answeredAt }) {
    const { redis, world: { time } } = this
    if (ttl === undefined || !redis.wasSetBack) return false
    // the time of an order is never below that of an earlier one
    return redis.earliest(time, time) < redis.latest(0, answeredAt) + ttl * 1000
  }

  /**
   * @param {Line} line
   * @param {string} guid
   * @returns {number | undefined} when the first order began that may have opened the document on it, virtual ms
   */
  firstJoin ({ uid, begunAt }, guid) {
    return this.orders.find((order) => order.kind === 'join' && order.uid === uid && order.guid === guid &&
      (order.answeredAt >= begunAt || !order.isSure))?.begunAt
  }

  /** @param {string} uid @param {string} guid @returns {boolean} nothing was ever withdrawn, or it was given back */
  isAllowed (uid, guid) {
    const orders = this.orders.filter((order) =>
      (order.kind === 'revoke' || order.kind === 'restore') && order.uid === uid && order.guid === guid)
    return orders.every(({ isSure }) => isSure) && (orders.at(-1)?.kind ?? 'restore') === 'restore'
  }

  /**
   * @param {OrderKind} kind @param {string} uid @param {string} guid
   * @param {number} at
   * @returns {Order[]} answered before then
   */
  #answered (kind, uid, guid, at) {
    return this.orders.filter((order) =>
      order.kind === kind && order.uid === uid && order.guid === guid && order.answeredAt < at)
  }

  /** Redis stores the orders: it may have lost this one. @param {Order} order */
  #mayBeLost ({ begunAt }) { return this.redis.mayHaveLost(begunAt) }

  /** @param {Order} order @param {OrderKind} kind */
  #wasRestored ({ uid, guid, begunAt }, kind) {
    return this.orders.some((order) =>
      order.kind === kind && order.uid === uid && order.guid === guid && order.begunAt >= begunAt)
  }

  /** A service may have opened it again. @param {Order} order */
  #mayBeOpened ({ guid, begunAt }) {
    return this.orders.some((order) => order.kind === 'join' && order.guid === guid && order.answeredAt > begunAt)
  }

  /** @param {Order} order */
  #ago ({ uid, guid, answeredAt }) {
    const whose = [uid, guid].filter((word) => word !== '').join(' in ')
    return `${whose}, answered ${((this.world.time - answeredAt) / 1000).toFixed(3)} s ago`
  }
}
