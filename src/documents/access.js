import { systemClock } from '../clock.js'
import { createAccessHook } from './access-hook.js'

/** @typedef {import('../auth/identity.js').Identity} Identity */
/** @typedef {import('../auth/identity.js').Grant} Grant */
/** @typedef {import('../auth/identity.js').Access} Access */

/** Up to here, going through a list of grants is as fast as a lookup, and needs no memory per connection. */
const SHORT_LIST = 8

/**
 * May this user open that document? The grants of the token decide; without a `documents` claim the policy does:
 * everything is allowed, or the service at AUTH_ACCESS_URL is asked.
 *
 * @param {object} dependencies
 * @param {Readonly<{ accessUrl?: string }>} dependencies.settings config.auth
 * @param {import('../log.js').Log} dependencies.log
 * @param {import('../clock.js').Clock} [dependencies.clock]
 */
export function createAccess ({ settings, log, clock = systemClock }) {
  const hook = settings.accessUrl === undefined ? null : createAccessHook({ url: settings.accessUrl, log, clock })
  /** @type {WeakMap<readonly Grant[], ReturnType<typeof compile>>} */
  const compiled = new WeakMap()

  /** @param {readonly Grant[]} grants */
  function compiledOnce (grants) {
    let lookup = compiled.get(grants)
    if (lookup === undefined) compiled.set(grants, lookup = compile(grants))
    return lookup
  }

  return {
    /**
     * At once, except when the service has to be asked.
     * @param {Identity} identity
     * @param {string} guid
     * @param {Access} access `write` includes reading
     * @returns {boolean | Promise<boolean>}
     * @throws {import('../errors.js').InkcastError} (or rejects with) unavailable (retryable), if the service can't be asked
     */
    check ({ uid, grants }, guid, access) {
      if (grants === null) return hook === null ? true : hook.ask(uid, guid, access)
      if (grants.length <= SHORT_LIST) return grants.some((grant) => allows(grant.access, access) && matches(grant.guid, guid))
      const { exact, prefixes } = compiledOnce(grants)
      return allows(exact.get(guid), access) || prefixes.some((grant) => allows(grant.access, access) && guid.startsWith(grant.prefix))
    },

    /** Ends what is being asked; those questions reject as `unavailable`. */
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
