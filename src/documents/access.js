import { Orders } from '../log/bus/orders.js'
import { createAccessHook } from './access-hook.js'

/** @typedef {import('../people/auth/identity.js').Identity} Identity */
/** @typedef {import('../people/auth/identity.js').Grant} Grant */
/** @typedef {import('../people/auth/identity.js').Access} Access */

/** Up to this length a scan of the grants is as fast as a lookup, and needs no memory per connection. */
const SHORT_LIST = 8
const WARN_EVERY = 60_000

/**
 * Decides whether a user may open a document. The grants of the token decide; without a `documents` claim everything is
 * allowed, or the service at AUTH_ACCESS_URL is asked. A revoke ends earlier rights: after it, access needs a token
 * that was issued later, or an answer of the service to a later request. A revoke with a time of its own ends all
 * rights until then. Why: docs/internals/decisions/0095-orders.md
 *
 * @param {object} dependencies
 * @param {Readonly<{ accessUrl?: string }>} dependencies.settings config.auth
 * @param {Pick<import('../people/tenants/names.js').TenantNames, 'mayMeet'>} [dependencies.tenants]
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../observe/metrics/metrics.js').Metrics, 'closed_grants'>} [dependencies.metrics]
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {() => number} [dependencies.orderTime] ms since 1970 by the clock that sets the times of orders; default: the
 *   wall clock of this process
 */
export function createAccess ({ settings, tenants, log, metrics, clock, orderTime = () => clock.now() }) {
  const hook = settings.accessUrl === undefined ? null : createAccessHook({ url: settings.accessUrl, log, clock })
  /** @type {WeakMap<readonly Grant[], ReturnType<typeof compile>>} */
  const compiled = new WeakMap()
  /** Kicks and revokes of users with connections here, or with a handshake in progress: bounded by their number. */
  const orders = new Orders({ now: orderTime })
  let warnAgainAt = -Infinity

  /**
   * Whether a token is not newer than a revocation. A token without `iat`, or no token, counts as older.
   * @param {Identity} identity
   * @param {number} revokedAt ms since 1970
   */
  function isOlder ({ issuedAt, anonymous }, revokedAt) {
    if (issuedAt !== null && issuedAt * 1000 > revokedAt) return false
    metrics?.closed_grants.inc()
    if (issuedAt === null && !anonymous && clock.monotonic() >= warnAgainAt) {
      warnAgainAt = clock.monotonic() + WARN_EVERY
      log.warn(
        'a document stays closed after a revoke, because the token has no time of issue: tokens need `iat`'
      )
    }
    return true
  }

  /** @param {readonly Grant[]} grants */
  function compiledOnce (grants) {
    let lookup = compiled.get(grants)
    if (lookup === undefined) compiled.set(grants, lookup = compile(grants))
    return lookup
  }

  return {
    /**
     * Synchronous, unless a request to the service is needed.
     * @param {Identity} identity
     * @param {string} guid
     * @param {Access} access `write` includes reading
     * @returns {boolean | Promise<boolean>}
     * @throws {import('../base/common/errors.js').InkcastError} (or rejects with) unavailable (retryable), if the
     *   service
     *   does not answer
     */
    check (identity, guid, access) {
      const { uid, grants } = identity
      if (tenants !== undefined && !tenants.mayMeet(uid, guid)) return false
      // the common case: no revokes on this worker
      const revokedAt = orders.size === 0 ? 0 : orders.revokedAt(uid, guid)
      if (orders.size > 0 && orders.closedUntil(uid, guid) > orderTime()) {
        metrics?.closed_grants.inc()
        return false
      }
      if (grants === null && hook !== null) {
        const answer = hook.ask(uid, guid, access, revokedAt)
        if (typeof answer === 'boolean') return answer
        // an answer to a request from before a revoke does not count
        return answer.then((allowed) => !allowed ||
          (orders.revokedAt(uid, guid) === revokedAt && orders.closedUntil(uid, guid) <= orderTime())
          ? allowed
          : this.check(identity, guid, access))
      }
      if (revokedAt > 0 && isOlder(identity, revokedAt)) return false
      if (grants === null) return true
      if (grants.length <= SHORT_LIST)
        return grants.some((grant) => allows(grant.access, access) && matches(grant.guid, guid))
      const { exact, prefixes } = compiledOnce(grants)
      return (
        allows(exact.get(guid), access) ||
        prefixes.some((grant) => allows(grant.access, access) && guid.startsWith(grant.prefix))
      )
    },

    /**
     * Whether the token alone says that the user may not write. (A service is not asked.)
     * @param {Identity} identity
     * @param {string} guid
     */
    readOnly (identity, guid) { return identity.grants !== null && this.check(identity, guid, 'write') !== true },

    /** @param {string} uid @returns {boolean} whether the user may not connect at present */
    isBanned: (uid) => orders.bannedUntil(uid) > orderTime(),

    /**
     * @param {string} uid
     * @param {string} guid
     * @returns {boolean} false: a service may not open the document for the user either, it is of another tenant
     */
    mayMeet: (uid, guid) => tenants === undefined || tenants.mayMeet(uid, guid),

    /** Kicks and revokes of users of this worker. */
    orders,

    /** Aborts requests in progress; they reject with `unavailable`. */
    stop () { hook?.stop() }
  }
}

/** @param {Access | undefined} granted @param {Access} wanted */
const allows = (granted, wanted) => granted === 'write' || granted === wanted

/** @param {string} pattern @param {string} guid */
const matches = (pattern, guid) => pattern === guid || (pattern.endsWith('*') && guid.startsWith(pattern.slice(0, -1)))

/** @param {readonly Grant[]} grants */
function compile (grants) {
  /** @type {Map<string, Access>} */
  const exact = new Map()
  const prefixes = []
  for (const { guid, access } of grants) {
    if (guid.endsWith('*')) prefixes.push({ prefix: guid.slice(0, -1), access })
    else if (exact.get(guid) !== 'write') exact.set(guid, access)
  }
  return { exact, prefixes }
}
