import { slotIn } from '../../redis/hash-slot.js'

/**
 * Routes publications for a user to the workers with connections of that user. Redis keeps the worker numbers per user,
 * each with an expiry that its worker renews. Entries of a dead worker expire; until then they cost a message without a
 * receiver. Registering a user also returns the kicks and revokes about the user.
 */

/**
 * Interval of renewals, ms. Entries expire by the wall clock of Redis: after eight intervals, so that two renewals may
 * fail and the clock may be set forward by 1,000 s before the users are registered again.
 */
const RENEW_AFTER = 5 * 60_000
const EXPIRES_AFTER = 8 * RENEW_AFTER / 1000
/** At most RENEWALS per PAUSE, ms. */
const RENEWALS = 2000
const PAUSE = 1000
/** Users changed by one call, at most. */
const BATCH = 200
/** Time until the next call, ms: per user in the last call, and its maximum. */
const PACE = 2
const MAX_PACE = 20
/** Users of failed calls that are remembered; the registrations of further ones expire. */
const MAX_UNSURE = 10_000

class Batch {
  /** @type {string[]} */
  uids = []
  /** Two for each of them. @type {string[]} */
  keys = []
  /** For each of them `+` or `-`. */
  ops = ''
  /** @type {(call: Promise<void>) => void} */
  resolve = () => {}
  /** @type {Promise<void>} */
  done = new Promise((resolve) => { this.resolve = resolve })
}

/**
 * Changes of registrations, by hash slot with Redis Cluster. The fixed cost of a call is higher than that of ten users
 * in it, so in a burst of connections the users of a few ms share one call; a single user is sent at the end of the
 * event loop's turn.
 */
class Changes {
  /** @type {Map<number, Batch>} */
  #batches = new Map()
  #planned = false
  /** Earliest time of the next call, monotonic ms. */
  #nextAt = -Infinity
  #parts

  /** @param {Pick<RouteParts, 'redis' | 'workerNumber' | 'onOrders' | 'clock'>} parts */
  constructor (parts) { this.#parts = parts }

  /** @param {string} uid @param {'+' | '-'} op @returns {Promise<unknown>} */
  add (uid, op) {
    const { redis, clock } = this.#parts
    const key = redis.keys.userWorkers(uid)
    const slot = slotIn(redis, key)
    let batch = this.#batches.get(slot)
    if (batch === undefined) this.#batches.set(slot, batch = new Batch())
    batch.uids.push(uid)
    batch.keys.push(key, redis.keys.userOrders(uid))
    batch.ops += op
    if (batch.uids.length === BATCH) {
      this.#batches.delete(slot)
      this.#send(batch)
    } else if (!this.#planned) {
      this.#planned = true
      const wait = this.#nextAt - clock.monotonic()
      if (wait > 0) clock.timer(wait, this.#flush)
      else clock.soon(this.#flush)
    }
    return batch.done
  }

  #flush = () => {
    this.#planned = false
    let sent = 0
    for (const batch of this.#batches.values()) {
      sent += batch.uids.length
      this.#send(batch)
    }
    this.#batches.clear()
    this.#nextAt = this.#parts.clock.monotonic() + Math.min(MAX_PACE, sent * PACE)
  }

  /** @param {Batch} batch */
  #send ({ uids, keys, ops, resolve }) {
    const { redis, workerNumber, onOrders } = this.#parts
    resolve(redis.scripts.users(keys, [workerNumber, EXPIRES_AFTER, ops]).then((ordered) => {
      for (const [place, ...words] of ordered) onOrders(uids[place], pairs(words))
    }))
  }
}

/**
 * @typedef {object} RouteParts
 * @property {import('../../redis/client.js').RedisConnection} redis
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 * @property {number} workerNumber
 * @property {() => boolean} [isOwner] false: another process may have the number, and registrations may be its own, so
 *   they are not removed
 * @property {(uid: string, orders: import('./orders.js').Order[]) => void} onOrders called after each registration with
 *   the orders about the user, if there are any; must not throw
 * @property {import('../../base/common/clock.js').Clock} clock
 */

export class UserRoutes {
  /**
   * Users of this worker, the one whose renewal was tried least recently first; bounded by the number of connections.
   * @type {Map<string, { renewedAt: number }>}
   */
  #users = new Map()
  /**
   * Users without connections here that Redis may still have, because a call about them failed or this worker had no
   * lease: they are removed later. Until then each publication for them costs a message without a receiver.
   * @type {Set<string>}
   */
  #unsure = new Set()
  /** Registrations before this time may be lost, monotonic ms. */
  #lostAt = 0
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #renewing = false
  /**
   * Resolved when no registration is older than `#lostAt`.
   * @type {{ done: Promise<void>, resolve: () => void } | null}
   */
  #renewal = null
  #changes
  #redis
  #metrics
  #isOwner
  #clock

  /** @param {RouteParts} parts */
  constructor ({ redis, metrics, workerNumber, isOwner = () => true, onOrders, clock }) {
    this.#changes = new Changes({ redis, workerNumber, onOrders, clock })
    this.#redis = redis
    this.#metrics = metrics
    this.#isOwner = isOwner
    this.#clock = clock
  }

  start () { if (this.#timer === undefined) this.#timer = this.#clock.every(PAUSE, () => this.#renew()).unref() }

  stop () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  /**
   * Redis has lost its data: registers all users again.
   * @returns {Promise<void>} resolves when all are registered
   */
  lost () {
    this.#lostAt = this.#clock.monotonic()
    if (this.#renewal === null) {
      let resolve = () => {}
      const done = new Promise((/** @type {(value: void) => void} */ settle) => { resolve = settle })
      this.#renewal = { done, resolve }
    }
    const { done } = this.#renewal
    this.#renew()
    return done
  }

  /** @param {string} uid @returns {Promise<void>} after a rejection the user is not registered */
  async add (uid) {
    const user = { renewedAt: this.#clock.monotonic() }
    this.#users.delete(uid)
    this.#users.set(uid, user)
    this.#unsure.delete(uid)
    try {
      await this.#changes.add(uid, '+')
    } catch (error) {
      if (this.#users.get(uid) === user) this.#users.delete(uid)
      this.#removeLater(uid)
      throw error
    }
  }

  /** @param {string} uid @returns {Promise<void>} */
  async remove (uid) {
    this.#users.delete(uid)
    if (!this.#isOwner()) return this.#removeLater(uid)
    await this.#changes.add(uid, '-').catch((error) => {
      this.#removeLater(uid)
      throw error
    })
  }

  /** @param {string} uid whose registration or removal failed, and may have been executed or not */
  #removeLater (uid) {
    if (!this.#users.has(uid) && this.#unsure.size < MAX_UNSURE) this.#unsure.add(uid)
  }

  #removeUnsure () {
    let sent = 0
    if (!this.#isOwner()) return
    for (const uid of this.#unsure) {
      if (sent++ === RENEWALS) break
      this.#unsure.delete(uid)
      this.#changes.add(uid, '-').catch(() => this.#removeLater(uid))
    }
  }

  /**
   * Renews the users that are due. Those whose renewal fails are tried again after all others: those of a Redis shard
   * that does not respond do not delay the others.
   */
  async #renew () {
    if (this.#renewing || !this.#redis.ready) return
    this.#renewing = true
    try {
      this.#removeUnsure()
      const now = this.#clock.monotonic()
      const dueBefore = Math.max(this.#lostAt, now - RENEW_AFTER)
      /** @type {Promise<unknown>[]} */
      const renewals = []
      for (const [uid, user] of this.#users) {
        if (renewals.length === RENEWALS) break
        if (user.renewedAt >= dueBefore) continue
        renewals.push(this.#changes.add(uid, '+').then(() => { user.renewedAt = now }).finally(() => {
          if (this.#users.get(uid) !== user) return
          this.#users.delete(uid)
          this.#users.set(uid, user)
        }))
      }
      const failed = (await Promise.allSettled(renewals)).filter(({ status }) => status === 'rejected').length
      // failed ones are still due in the next round
      if (failed > 0) this.#metrics.bus_errors.inc({ operation: 'renew_user' }, failed)
    } finally {
      this.#renewing = false
    }
    this.#tellRenewed()
  }

  #tellRenewed () {
    if (this.#renewal === null) return
    for (const { renewedAt } of this.#users.values()) if (renewedAt < this.#lostAt) return
    this.#renewal.resolve()
    this.#renewal = null
  }
}

/** @param {string[]} words alternating names and times @returns {import('./orders.js').Order[]} */
function pairs (words) {
  /** @type {import('./orders.js').Order[]} */
  const orders = []
  for (let i = 0; i < words.length; i += 2) orders.push([words[i], Number(words[i + 1])])
  return orders
}
