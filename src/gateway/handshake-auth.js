import { z } from 'zod'
import { TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { InkcastError } from '../common/errors.js'
import { isId } from '../wire/publication.js'
import { guid, isRecord, parseInput, position, state } from './handlers/input.js'

/** As the argument of doc:join, without the guid, and with what a position is made of in place of it. */
const opening = z
  .strictObject({ ...position.partial().shape, state: state.optional(), members: z.boolean().optional() })
  .refine(({ epoch, offset }) => (epoch === undefined) === (offset === undefined), 'epoch and offset go together')
  .transform(({ epoch, offset, ...rest }) => ({
    position: epoch === undefined || offset === undefined ? null : { epoch, offset },
    ...rest
  }))
  .nullable()

/**
 * What a client sends with its CONNECT packet; fields of others pass, unseen. Its documents are left to
 * `readDocuments`.
 */
export const authSchema = z.object({
  token: z.string().nullish(),
  client: z
    .custom(/** @type {(value: unknown) => value is string} */ (isId), 'client must be a string of 1 to 256 bytes')
    .nullish(),
  documents: z.custom(isRecord, 'documents must be an object').nullish()
})

/**
 * Every guid has a place in a Map, also one that means something to an object.
 * @typedef {Map<string, import('zod').output<typeof opening>>} HandshakeDocuments
 */

/**
 * One by one, so that the first one that is wrong is the last one looked at.
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
 * Whether it is an object with a valid token and client id at most, which the schema would pass as it is. Why: decision
 * 0008. Exported for tests: compared with the schema.
 * @param {any} auth
 * @returns {auth is { token?: string, client?: string, documents?: undefined }}
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
