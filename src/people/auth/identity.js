import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { array, custom, number, object, oneOf, parse, string, wholeNumber } from '../../base/common/schema.js'
import { deviceUser, isId } from '../../wire/publication.js'

/**
 * The identity of a connection. Frozen, and the same object for all connections with the same token.
 *
 * @typedef {object} Identity
 * @property {string} uid
 * @property {string} [name]
 * @property {string} [tier] heartbeat tier
 * @property {readonly Grant[] | null} grants null: the token has no `documents` claim, the access policy decides
 * @property {number | null} issuedAt s since 1970; null: the token does not say
 * @property {import('./keys.js').VerificationKey} [key] that its token was verified with, where keys may be withdrawn
 * @property {number | null} expiresAt ms since 1970; null: never
 * @property {boolean} anonymous
 * @property {unknown} [data] what the application has said about the user besides (AUTH_CONNECT_URL), for extensions
 */

/**
 * @typedef {object} Grant
 * @property {string} guid a document, or with `*` at the end every document whose id begins like this
 * @property {Access} access `write` includes reading
 */
/** @typedef {'read' | 'write'} Access */

/** Prefix of anonymous user ids, also of devices (`deviceUser`); no token may name such a user. */
const ANONYMOUS_PREFIX = 'anonymous:'
/** @param {string} uid @returns {boolean} whether it is of a client that gave no token */
export const isAnonymous = (uid) => uid.startsWith(ANONYMOUS_PREFIX)

/** Maximum grants in a token; for more use a prefix or the access service. */
const MAX_GRANTS = 1000
/** Characters. */
const MAX_NAME = 256
// Beyond what a Date can hold, sums with it are no longer exact (ECMA-262, 21.4.1.1: 8.64e15 ms).
const MAX_SECONDS = 8.64e12

const id = v.pipe(string(), v.check((value) => isId(value), 'is not a valid id'))
const seconds = v.optional(v.pipe(number(), v.minValue(-MAX_SECONDS), v.maxValue(MAX_SECONDS)))

const uid =
  v.pipe(id, v.check((value) => !value.startsWith(ANONYMOUS_PREFIX), `must not begin with ${ANONYMOUS_PREFIX}`))
/** The same in a token and in an answer of the application. */
const shared = {
  name: v.optional(v.pipe(string(), v.maxCodePoints(MAX_NAME))),
  documents: v.optional(
    v.pipe(array(object({ guid: id, access: oneOf(['read', 'write']) })), v.maxLength(MAX_GRANTS))
  )
}

/** Exported for tests: the shorter way below must agree with it. */
export const claims = object({
  sub: uid,
  exp: seconds,
  nbf: seconds,
  tier: v.optional(v.pipe(string(), v.maxCodePoints(64))),
  ...shared
})

/** Bytes of `data` as JSON: every connection of the user keeps it. */
const MAX_DATA = 4096

/** @param {unknown} value @returns {value is unknown} */
const isShort = (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_DATA

const answer = object({
  uid,
  ...shared,
  expiresAt: v.optional(v.pipe(number(), v.minValue(0), v.maxValue(MAX_SECONDS * 1000))),
  refreshInMs: v.optional(wholeNumber(0)),
  data: v.optional(custom(isShort, `must have at most ${MAX_DATA} bytes as JSON`))
})

/**
 * Recognizes the claims of most tokens, which `claims` would pass as they are. Why: decision 0005. Exported for tests:
 * compared with the schema.
 * @param {any} payload
 * @returns {payload is Pick<v.InferOutput<typeof claims>, 'sub' | 'exp' | 'name'> & { nbf?: undefined, tier?:
 *   undefined, documents?: undefined }}
 */
export function isPlain (payload) {
  const { sub, exp, nbf, name, tier, documents } = payload
  return isId(sub) && !sub.startsWith(ANONYMOUS_PREFIX) &&
    (exp === undefined || (typeof exp === 'number' && exp >= -MAX_SECONDS && exp <= MAX_SECONDS)) &&
    (name === undefined || (typeof name === 'string' && name.length <= MAX_NAME)) &&
    nbf === undefined && tier === undefined && documents === undefined
}

/**
 * @param {unknown} payload
 * @returns {v.InferOutput<typeof claims>}
 * @throws {InkcastError} unauthorized
 */
function parseClaims (payload) {
  const { value, problem } = parse(claims, payload)
  if (problem === undefined) return value
  const { path, message } = problem
  throw new InkcastError(
    'unauthorized',
    path.length === 0 ? `the token's payload ${message}` : `the token's claim ${path.join('.')}: ${message}`
  )
}

/**
 * @param {unknown} payload the claims of a token whose signature was verified; claims not named here are ignored
 * @param {import('./keys.js').VerificationKey} [key] see Identity
 * @param {import('../tenants/names.js').TenantNames} [tenants] default: the claim `tenant` means nothing
 * @returns {{ identity: Identity, notBefore: number }} notBefore in ms since 1970, -Infinity without an `nbf` claim
 * @throws {InkcastError} unauthorized, naming the claim that is wrong
 */
export function identityFromClaims (payload, key, tenants) {
  const { sub, exp, nbf, name, tier, documents } = isPlain(payload) ? payload : parseClaims(payload)
  if (tenants !== undefined) tenants.check(/** @type {{ tenant?: unknown }} */ (payload).tenant, sub)
  // earlier versions ignored this claim, so no token is refused because of it
  const { iat } = /** @type {{ iat?: unknown }} */ (payload)
  const fields = {
    uid: sub,
    grants: frozen(documents),
    issuedAt: typeof iat === 'number' ? iat : null,
    expiresAt: exp === undefined ? null : exp * 1000,
    anonymous: false
  }
  // a name that is added later would take a list of properties, of 40 bytes
  /** @type {Identity} */
  const identity = name === undefined ? fields : { ...fields, name }
  if (tier !== undefined) identity.tier = tier
  if (key !== undefined) identity.key = key
  return { identity: Object.freeze(identity), notBefore: nbf === undefined ? -Infinity : nbf * 1000 }
}

/** @param {Grant[] | undefined} documents @returns {Identity['grants']} */
const frozen = (documents) =>
  documents === undefined ? null : Object.freeze(documents.map((grant) => Object.freeze(grant)))

/**
 * @param {Record<string, unknown>} given answer of the application; a field that is null counts as absent
 * @param {number} askedAt ms since 1970: the answer is as old as its question
 * @param {import('../tenants/names.js').TenantNames} [tenants] default: its field `tenant` means nothing
 * @returns {{ identity: Identity, refreshInMs: number }} refreshInMs: how long the answer holds for the same question
 * @throws {InkcastError} unauthorized, naming the field that is wrong
 */
export function identityFromAnswer (given, askedAt, tenants) {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const { value, problem } = parse(answer, fields)
  if (problem !== undefined)
    throw new InkcastError('unauthorized', `the answer of the application, ${problem.path.join('.')}: ${problem.message}`)
  const { uid, name, documents, data, expiresAt = null, refreshInMs = 0 } = value
  if (tenants !== undefined) tenants.check(fields.tenant, uid)
  /** @type {Identity} */
  const identity = { uid, grants: frozen(documents), issuedAt: askedAt / 1000, expiresAt, anonymous: false }
  if (name !== undefined) identity.name = name
  if (data !== undefined) identity.data = data
  return { identity: Object.freeze(identity), refreshInMs }
}

/** @param {string} uid @returns {Identity} */
const anonymous = (uid) => Object.freeze({ uid, grants: null, issuedAt: null, expiresAt: null, anonymous: true })

/**
 * @param {Pick<import('../../base/common/random.js').Random, 'bytes'>} random
 * @returns {Identity} a new user with a unique id
 */
export const anonymousIdentity = (random) => anonymous(ANONYMOUS_PREFIX + random.bytes(12).toString('base64url'))

/** @param {string} device id @returns {Identity | undefined} undefined: it is too long for a part of a user's id */
export function deviceIdentity (device) {
  const uid = deviceUser(device)
  return isId(uid) ? anonymous(uid) : undefined
}
