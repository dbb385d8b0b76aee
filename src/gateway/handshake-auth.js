import { z } from 'zod'
import { TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { InkcastError } from '../common/errors.js'
import { isId } from '../wire/publication.js'
import { guid, isRecord, parseInput, position, state } from './handlers/input.js'

/** Like the argument of doc:join, without the guid, and with the fields of a position in place of `position`. */
const opening = z
  .strictObject({ ...position.partial().shape, state: state.optional(), members: z.boolean().optional() })
  .refine(({ epoch, offset }) => (epoch === undefined) === (offset === undefined), 'epoch and offset go together')
  .transform(({ epoch, offset, ...rest }) => ({
    position: epoch === undefined || offset === undefined ? null : { epoch, offset },
    ...rest
  }))
  .nullable()

/** Where to go on in the user's log; without fields: with what is published from now on. */
const userPosition = z
  .strictObject(position.partial().shape)
  .refine(({ epoch, offset }) => (epoch === undefined) === (offset === undefined), 'epoch and offset go together')
  .transform(({ epoch, offset }) => epoch === undefined || offset === undefined ? null : { epoch, offset })

/**
 * Auth data of the CONNECT packet; unknown fields are ignored. `readDocuments` checks its documents.
 */
export const authSchema = z.object({
  token: z.string().nullish(),
  client: z
    .custom(/** @type {(value: unknown) => value is string} */ (isId), 'client must be a string of 1 to 256 bytes')
    .nullish(),
  documents: z.custom(isRecord, 'documents must be an object').nullish(),
  user: userPosition.nullish()
})

/**
 * A Map, because a guid may be a name that has a meaning in an object, like `__proto__`.
 * @typedef {Map<string, import('zod').output<typeof opening>>} HandshakeDocuments
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
  if (typeof auth !== 'object' || auth === null || Array.isArray(auth)) return false
  for (const field in auth) {
    const value = auth[field]
    if (!(field === 'token' ? typeof value === 'string' : field === 'client' && isId(value))) return false
  }
  return true
}

/**
 * @param {any} auth of a CONNECT packet
 * @returns {import('zod').output<typeof authSchema>}
 * @throws {InkcastError} bad_value, bad_request
 */
export function readAuth (auth) {
  if (auth === TOO_MANY_VALUES) throw new InkcastError('bad_value', 'there are too many values in the packet')
  return isPlainAuth(auth) ? auth : parseInput(authSchema, auth)
}
