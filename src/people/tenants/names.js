import { InkcastError } from '../../base/common/errors.js'

/**
 * Tenants (TENANTS): applications that share a cluster. Documents and users of a tenant have its name and a slash in
 * front of their ids, and no other ids begin like this: the id alone tells whose it is.
 */
export class TenantNames {
  #names

  /** @param {ReadonlyMap<string, unknown>} tenants by name */
  constructor (tenants) { this.#names = tenants }

  /** @param {string} id of a document or a user @returns {string | undefined} undefined: of no tenant */
  of (id) {
    const end = id.indexOf('/')
    if (end < 1) return undefined
    const name = id.slice(0, end)
    return this.#names.has(name) ? name : undefined
  }

  /** @param {unknown} name */
  has (name) { return typeof name === 'string' && this.#names.has(name) }

  /** @param {string} uid @param {string} guid @returns {boolean} whether the user may have anything to do with it */
  mayMeet (uid, guid) { return this.of(uid) === this.of(guid) }

  /**
   * @param {unknown} claim the tenant that a token, or an answer of the application, names
   * @param {string} uid
   * @throws {InkcastError} unauthorized: they do not fit. The message does not repeat the claim
   */
  check (claim, uid) {
    const owner = this.of(uid)
    if (claim === undefined || claim === null) {
      if (owner === undefined) return
      throw new InkcastError('unauthorized', `the user is one of the tenant ${owner}: the claim tenant is needed`)
    }
    if (!this.has(claim)) throw new InkcastError('unauthorized', 'the claim tenant names none of TENANTS')
    if (claim !== owner)
      throw new InkcastError('unauthorized', `the id of a user of the tenant ${claim} must begin with ${claim}/`)
  }
}

/** @param {string} tenant @returns {string} what its ids begin with */
export const startOf = (tenant) => `${tenant}/`
