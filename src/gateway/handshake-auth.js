import * as v from 'valibot'
import { TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { InkcastError } from '../common/errors.js'
import { boolean, custom, isRecord, object, strictObject, string } from '../common/schema.js'
import { isId } from '../wire/publication.js'
import { guid, parseInput, positionFields, state } from './handlers/input.js'

/** @typedef {{ epoch?: string, offset?: number }} PositionFields */

/** @param {PositionFields} fields */
const isWhole = ({ epoch, offset }) => (epoch === undefined) === (offset === undefined)
const NOT_WHOLE = 'must have both epoch and offset, or neither'

/** @param {PositionFields} fields */
const positionOf = ({ epoch, offset }) => epoch === undefined || offset === undefined ? null : { epoch, offset }

/** Like the argument of doc:join, without the guid, and with the fields of a position in place of `position`. */
const opening = v.nullable(v.pipe(
  strictObject({ ...positionFields, state: v.optional(state), members: v.optional(boolean()) }),
  // a function of its own keeps the types of the other fields
  v.check((fields) => isWhole(fields), NOT_WHOLE),
  v.transform(({ epoch, offset, ...rest }) => ({ position: positionOf({ epoch, offset }), ...rest }))
))

/** Where to go on in the user's log; without fields: with what is published from now on. */
const userPosition = v.pipe(strictObject(positionFields), v.check(isWhole, NOT_WHOLE), v.transform(positionOf))

/**
 * Auth data of the CONNECT packet; unknown fields are ignored. `readDocuments` checks its documents.
 */
export const authSchema = object({
  token: v.nullish(string()),
  client: v.nullish(custom(
    /** @type {(value: unknown) => value is string} */ (isId),
    'must be a string of 1 to 256 bytes without control characters'
  )),
  documents: v.nullish(custom(isRecord, 'must be an object')),
  user: v.nullish(userPosition)
})

/**
 * A Map, because a guid may be a name that has a meaning in an object, like `__proto__`.
 * @typedef {Map<string, import('valibot').InferOutput<typeof opening>>} HandshakeDocuments
 */

/**
 * Stops at the first invalid document, to bound the cost of invalid input.
 * @param {Record<string, unknown>} documents
 * @returns {HandshakeDocuments}
 * @throws {InkcastError} bad_request
 */
export function readDocuments (documents) {
  const read = new Map()
  for (const name of Object.keys(documents)) {
    const at = ['documents', name]
    read.set(parseInput(guid, name, at), parseInput(opening, documents[name], at))
  }
  return read
}

/**
 * Whether `auth` has at most a valid token and client id, so that the schema would return it unchanged. Why: decision
 * 0008. Exported for tests: compared with the schema.
 * @param {any} auth
 * @returns {auth is { token?: string, client?: string, documents?: undefined, user?: undefined }}
 */
export function isPlainAuth (auth) {
  if (!isRecord(auth)) return false
  for (const field in auth) {
    const value = auth[field]
    if (!(field === 'token' ? typeof value === 'string' : field === 'client' && isId(value))) return false
  }
  return true
}

/**
 * @param {any} auth of a CONNECT packet
 * @returns {import('valibot').InferOutput<typeof authSchema>}
 * @throws {InkcastError} bad_value, bad_request
 */
export function readAuth (auth) {
  if (auth === TOO_MANY_VALUES) throw new InkcastError('bad_value', 'there are too many values in the packet')
  return isPlainAuth(auth) ? auth : parseInput(authSchema, auth)
}
