import * as v from 'valibot'
import { TOO_MANY_VALUES, UNREADABLE } from '../transport/admission/rate-limit.js'
import { InkcastError, publicError } from '../base/common/errors.js'
import { boolean, custom, isRecord, object, parse, strictObject, string } from '../base/common/schema.js'
import { isId } from '../wire/publication.js'
import { guid, idle, last, members, parseInput, positionFields, state } from './handlers/input.js'

/** @typedef {{ epoch?: string, offset?: number }} PositionFields */

/** @param {PositionFields} fields */
const isWhole = ({ epoch, offset }) => (epoch === undefined) === (offset === undefined)
const NOT_WHOLE = 'must have both epoch and offset, or neither'

/** @param {PositionFields} fields */
const positionOf = ({ epoch, offset }) => epoch === undefined || offset === undefined ? null : { epoch, offset }

/** Like the argument of doc:join, without the guid, and with the fields of a position in place of `position`. */
const opening = v.nullable(v.pipe(
  strictObject({
    ...positionFields,
    last: v.optional(last),
    state: v.optional(state),
    idle: v.optional(idle),
    members: v.optional(members)
  }),
  // a function of its own keeps the types of the other fields
  v.check((fields) => isWhole(fields), NOT_WHOLE),
  v.transform(({ epoch, offset, ...rest }) => ({ position: positionOf({ epoch, offset }), ...rest }))
))

/** Where to go on in the user's log; without fields: with what is published from now on. */
const userPosition = v.pipe(strictObject(positionFields), v.check(isWhole, NOT_WHOLE), v.transform(positionOf))

const token = v.nullish(string())

/** Parts of `auth` that are refused alone: the client is admitted without them. */
const PARTS = {
  client: v.nullish(custom(
    /** @type {(value: unknown) => value is string} */ (isId),
    'must be a string of 1 to 256 bytes without control characters'
  )),
  acknowledges: v.nullish(boolean()),
  documents: v.nullish(custom(isRecord, 'must be an object')),
  user: v.nullish(userPosition)
}

/** Auth data of the CONNECT packet; unknown fields are ignored. Exported for tests. */
export const authSchema = object({ token, ...PARTS })
/** The same without the parts. */
const authWithoutParts = object({ token })

/**
 * A Map, because a guid may be a name that has a meaning in an object, like `__proto__`. With the error
 * of each document that is not well formed.
 * @typedef {Map<string, import('valibot').InferOutput<typeof opening> | InkcastError>} HandshakeDocuments
 */

/**
 * The argument of `gateway:refused`.
 * @typedef {{ field: string, error: ReturnType<typeof publicError> }} RefusedPart
 */

/**
 * @param {Record<string, unknown>} documents at most MAX_DOCUMENTS_PER_CONNECTION: this bounds the cost of invalid ones
 * @returns {HandshakeDocuments}
 */
export function readDocuments (documents) {
  /** @type {HandshakeDocuments} */
  const read = new Map()
  for (const name of Object.keys(documents)) {
    const at = ['documents', name]
    try {
      parseInput(guid, name, at)
      read.set(name, parseInput(opening, documents[name], at))
    } catch (error) {
      read.set(name, /** @type {InkcastError} */ (error))
    }
  }
  return read
}

/**
 * Whether `auth` has at most a valid token, client id and `acknowledges`, so that the schema would return it unchanged.
 * Why: docs/internals/decisions/0005-handshake.md. Exported for tests: compared with the schema.
 * @param {any} auth
 * @returns {auth is
 *   { token?: string, client?: string, acknowledges?: boolean, documents?: undefined, user?: undefined }}
 */
export function isPlainAuth (auth) {
  if (!isRecord(auth)) return false
  for (const field in auth) {
    const value = auth[field]
    const isPlain = field === 'token'
      ? typeof value === 'string'
      : field === 'client' ? isId(value) : field === 'acknowledges' && typeof value === 'boolean'
    if (!isPlain) return false
  }
  return true
}

/**
 * @param {any} auth of a CONNECT packet
 * @returns {import('valibot').InferOutput<typeof authSchema> & { refused?: RefusedPart[] }}
 * @throws {InkcastError} bad_value; bad_request for an `auth` that is no object, or a token of a wrong type
 */
export function readAuth (auth) {
  if (auth === TOO_MANY_VALUES) throw new InkcastError('bad_value', 'there are too many values in the packet')
  if (auth === UNREADABLE) throw new InkcastError('bad_value', 'the packet has no `auth` object that can be decoded')
  return isPlainAuth(auth) ? auth : parse(authSchema, auth).value ?? readParts(auth)
}

/** @param {any} auth with something invalid */
function readParts (auth) {
  /** @type {any} */
  const read = parseInput(authWithoutParts, auth)
  read.refused = []
  for (const [field, schema] of Object.entries(PARTS)) {
    try {
      read[field] = parseInput(/** @type {v.GenericSchema} */ (schema), auth[field], [field])
    } catch (error) {
      read.refused.push({ field, error: publicError(error) })
    }
  }
  return read
}
