import { InkcastError } from '../../../base/common/errors.js'
import { startOf } from '../../../people/tenants/names.js'
import { targetsOf } from '../../../wire/publication.js'
import { Patterns } from './pattern.js'

/**
 * What a caller may do.
 *
 * @typedef {object} Rights
 * @property {ReadonlySet<string> | null} operators of publications, whichever operation brings them; null: all
 * @property {ReadonlySet<string> | null} operations others than those that publish; null: all
 * @property {Patterns} guids
 * @property {Patterns} uids
 * @property {Patterns} groups of the uplink, which `events` reads and acknowledges
 */

/**
 * An operation that publishes nothing, with its targets.
 *
 * @typedef {object} Request
 * @property {string} operation as in the table of operations
 * @property {string} [guid]
 * @property {string} [uid]
 * @property {string} [sid]
 * @property {string} [group] of the uplink
 * @property {string} [prefix] of the documents that are asked for
 */
/** @typedef {Pick<import('../../../wire/publication.js').Publication, 'operator' | 'guid' | 'uid' | 'sid'>} Targeted */

const ALL = new Patterns(['*'])

/** @type {Rights} */
export const ALL_RIGHTS = Object.freeze({ operators: null, operations: null, guids: ALL, uids: ALL, groups: ALL })

/**
 * @param {{ operators?: readonly string[], operations?: readonly string[], guids?: readonly string[], uids?: readonly
 *   string[], groups?: readonly string[], tenant?: string }} settings of one caller in API_CALLERS_FILE; `*` for all;
 *   tenant: only its documents and users
 * @returns {Rights}
 */
export function rightsOf ({
  operators = [], operations = [], guids = ['*'], uids = ['*'], groups = ['*'], tenant
}) {
  const start = tenant === undefined ? '' : startOf(tenant)
  const set = (/** @type {readonly string[]} */ names) => names.includes('*') ? null : new Set(names)
  return {
    operators: set(operators),
    operations: set(operations),
    guids: new Patterns(guids, start),
    uids: new Patterns(uids, start),
    // the events of a group are those of all tenants
    groups: new Patterns(tenant === undefined ? groups : [])
  }
}

/**
 * The one decision. Every target that the operator or operation acts on must match; other targets that a request names
 * count for nothing. A target that patterns cannot check needs the right to all ids: a connection may be any user's,
 * and what has no target reaches everybody.
 *
 * @param {string} name the caller's, for the message
 * @param {Rights} rights
 * @param {Targeted | Request} request
 * @throws {InkcastError} forbidden
 */
export function checkRights (name, { operators, operations, guids, uids, groups }, request) {
  const { guid, uid, sid } = 'operator' in request ? targetsOf(request) : request
  if ('operator' in request) {
    if (operators !== null && !operators.has(request.operator))
      throw forbidden(name, `may not use the operator ${request.operator}`)
  } else if (operations !== null && !operations.has(request.operation)) {
    throw forbidden(name, `may not use the operation ${request.operation}`)
  }
  if ('group' in request && request.group !== undefined && !groups.match(request.group))
    throw forbidden(name, 'may not read the events of this group')
  if (guid !== undefined && !guids.match(guid)) throw forbidden(name, 'has no right to this document')
  if (uid !== undefined && !uids.match(uid)) throw forbidden(name, 'has no right to this user')
  if (sid !== undefined && !uids.all)
    throw forbidden(name, 'may not name connections: its right to users is limited')
  if (guid === undefined && uid === undefined && sid === undefined) {
    const prefix = 'prefix' in request ? request.prefix : undefined
    if (prefix === undefined ? !(guids.all && uids.all) : !guids.covers(prefix))
      throw forbidden(name, 'may not do this for all documents and users: its right to them is limited')
  }
}

/** @param {string} name @param {string} reason */
const forbidden = (name, reason) => new InkcastError('forbidden', `the caller ${name} ${reason}`)
