import { InkcastError } from '../../base/common/errors.js'

/** Bytes of the headers as JSON: no more than a proxy lets through. Of `auth` as many. */
const MAX_BYTES = 16_384
/** Fields of `auth` that are for the gateway: they differ at each reconnect, and say nothing about the user. */
const OWN_FIELDS = ['client', 'documents', 'user']

/**
 * The body of the question. Two clients have the same body only if they have sent the same: it is the key of the cache,
 * and so it has nothing that is not sent to the application, and everything that is.
 *
 * @param {import('../../people/auth/credentials.js').Asked} asked
 * @param {readonly string[]} names of the headers, in lower case
 * @returns {string} JSON
 * @throws {InkcastError} bad_request
 */
export function questionOf ({ headers, address, auth }, names) {
  /** @type {Map<string, unknown>} */
  const chosen = new Map()
  for (const name of names) if (Object.hasOwn(headers, name)) chosen.set(name, headers[name])
  const rest = Object.entries(auth).filter(([name]) => !OWN_FIELDS.includes(name))
  return `{"headers":${textOf('headers', chosen)},"origin":${JSON.stringify(headers.origin ?? null)},` +
    `"address":${JSON.stringify(address || null)},"auth":${textOf('auth', rest)}}`
}

/** @param {string} what @param {Iterable<readonly [string, unknown]>} fields @returns {string} */
function textOf (what, fields) {
  /** @type {string} */
  let text
  try {
    text = JSON.stringify(Object.fromEntries(fields))
  } catch (error) {
    throw new InkcastError('bad_request', `\`${what}\` has a value that JSON does not have`, { cause: error })
  }
  if (Buffer.byteLength(text) > MAX_BYTES)
    throw new InkcastError('bad_request', `\`${what}\` of the handshake has more than ${MAX_BYTES} bytes as JSON`)
  return text
}
