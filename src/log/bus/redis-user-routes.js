import { userOrders, userWorkers } from '../../redis/keys.js'
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
 * @param {object} dependencies
 * @param {import('../../redis/client.js').RedisConnection} dependencies.redis
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} dependencies.workerNumber
 * @param {() => boolean} [dependencies.isOwner] false: another process may have the number, and registrations may be
 *   its own, so they are not removed
 * @param {(uid: string, orders: import('./orders.js').Order[]) => void} dependencies.onOrders called after each
 *   registration with the orders about the user, if there are any; must not throw
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createUserRoutes ({ redis, metrics, workerNumber, isOwner = () => true, onOrders, clock }) {
  /**
   * Users of this worker, the one with the oldest renewal first; bounded by the number of connections.
   * @type {Map<string, { renewedAt: number }>}
   */
  const users = new Map()
  /**
   * Users without connections here that Redis may still have, because a call about them failed or this worker had no
   * lease: they are removed later. Until then each publication for them costs a message without a receiver.
   * @type {Set<string>}
   */
  const unsure = new Set()
  /** Registrations before this time may be lost, monotonic ms. */
  let lostAt = 0
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  let renewing = false
  /**
   * Resolved when no registration is older than `lostAt`.
   * @type {{ done: Promise<void>, resolve: () => void } | null}
   */
  let renewal = null

  /**
   * Changes to send, by hash slot with Redis Cluster. The fixed cost of a call is higher than that of ten users in it,
   * so in a burst of connections the users of a few ms share one call; a single user is sent at the end of the event
   * loop's turn.
   * @type {Map<number, Batch>}
   */
  const batches = new Map()
  let planned = false
  /** Earliest time of the next call, monotonic ms. */
  let nextAt = -Infinity

  /** @param {string} uid @param {'+' | '-'} op @returns {Promise<unknown>} */
  function change (uid, op) {
    const key = userWorkers(uid)
    const slot = slotIn(redis, key)
    let batch = batches.get(slot)
    if (batch === undefined) batches.set(slot, batch = new Batch())
    batch.uids.push(uid)
    batch.keys.push(key, userOrders(uid))
    batch.ops += op
    if (batch.uids.length === BATCH) {
      batches.delete(slot)
      send(batch)
    } else if (!planned) {
      planned = true
      const wait = nextAt - clock.monotonic()
      if (wait > 0) clock.timer(wait, flush)
      else clock.soon(flush)
    }
    return batch.done
  }

  function flush () {
    planned = false
    let sent = 0
    for (const batch of batches.values()) {
      sent += batch.uids.length
      send(batch)
    }
    batches.clear()
    nextAt = clock.monotonic() + Math.min(MAX_PACE, sent * PACE)
  }

  /** @param {Batch} batch */
  function send ({ uids, keys, ops, resolve }) {
    resolve(redis.scripts.users(keys, [workerNumber, EXPIRES_AFTER, ops]).then((ordered) => {
      for (const [place, ...words] of ordered) onOrders(uids[place], pairs(words))
    }))
  }

  /** @param {string} uid whose registration or removal failed, and may have been executed or not */
  function removeLater (uid) {
    if (!users.has(uid) && unsure.size < MAX_UNSURE) unsure.add(uid)
  }

  function removeUnsure () {
    let sent = 0
    if (!isOwner()) return
    for (const uid of unsure) {
      if (sent++ === RENEWALS) break
      unsure.delete(uid)
      change(uid, '-').catch(() => removeLater(uid))
    }
  }

  /** Renews the users that are due, oldest first. */
  async function renew () {
    if (renewing || !redis.ready) return
    renewing = true
    try {
      removeUnsure()
      const now = clock.monotonic()
      /** @type {Promise<unknown>[]} */
      const renewals = []
      for (const [uid, user] of users) {
        if (renewals.length === RENEWALS || user.renewedAt >= Math.max(lostAt, now - RENEW_AFTER)) break
        renewals.push(change(uid, '+').then(() => {
          if (users.get(uid) !== user) return
          user.renewedAt = now
          users.delete(uid)
          users.set(uid, user)
        }))
      }
      const failed = (await Promise.allSettled(renewals)).filter(({ status }) => status === 'rejected').length
      // failed ones are still due in the next round
      if (failed > 0) metrics.bus_errors.inc({ operation: 'renew_user' }, failed)
    } finally {
      renewing = false
    }
    tellRenewed()
  }

  /** A failed or new loss leaves the oldest user behind: the others wait for the next round. */
  function tellRenewed () {
    const oldest = users.values().next().value
    if (oldest !== undefined && oldest.renewedAt < lostAt) return
    renewal?.resolve()
    renewal = null
  }

  return {
    start () { timer ??= clock.every(PAUSE, renew).unref() },
    stop () {
      timer?.stop()
      timer = undefined
    },

    /**
     * Redis has lost its data: registers all users again.
     * @returns {Promise<void>} resolves when all are registered
     */
    lost () {
      lostAt = clock.monotonic()
      if (renewal === null) {
        let resolve = () => {}
        const done = new Promise((/** @type {(value: void) => void} */ settle) => { resolve = settle })
        renewal = { done, resolve }
      }
      const { done } = renewal
      renew()
      return done
    },

    /** @param {string} uid @returns {Promise<void>} after a rejection the user is not registered */
    async add (uid) {
      const user = { renewedAt: clock.monotonic() }
      users.delete(uid)
      users.set(uid, user)
      unsure.delete(uid)
      try {
        await change(uid, '+')
      } catch (error) {
        if (users.get(uid) === user) users.delete(uid)
        removeLater(uid)
        throw error
      }
    },

    /** @param {string} uid @returns {Promise<void>} */
    async remove (uid) {
      users.delete(uid)
      if (!isOwner()) return removeLater(uid)
      await change(uid, '-').catch((error) => {
        removeLater(uid)
        throw error
      })
    }
  }
}

/** @param {string[]} words alternating names and times @returns {import('./orders.js').Order[]} */
function pairs (words) {
  /** @type {import('./orders.js').Order[]} */
  const orders = []
  for (let i = 0; i < words.length; i += 2) orders.push([words[i], Number(words[i + 1])])
  return orders
}
