import { isUtf8 } from 'node:buffer'
import { InkcastError } from '../../../base/common/errors.js'
import { HEADER, meantHeader } from '../../../wire/headers.js'
import { ID_RULE, isId } from '../../../wire/publication.js'

/**
 * @param {Record<string, string>} params of the path (decoded), or fields of a request of gRPC
 * @returns {Record<string, string>} the same
 * @throws {InkcastError} bad_target
 */
export function checkIds (params) {
  for (const [name, value] of Object.entries(params))
    if (!isId(value)) throw new InkcastError('bad_target', `the ${name} is not a valid id: ${ID_RULE}`)
  return params
}

/**
 * Refuses headers with a mistake in their name: the publication would be another one than its publisher wants.
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @throws {InkcastError} bad_header
 */
export function checkHeaderNames (headers) {
  for (const name in headers) {
    const meant = meantHeader(name)
    if (meant !== undefined) throw new InkcastError('bad_header', `the header ${name} is unknown; ${meant} is meant?`)
  }
}

/**
 * Before a body is read that could not be used.
 * @param {import('node:http').IncomingHttpHeaders} headers
 */
export function checkBodyHeaders (headers) {
  const type = headers[HEADER.contentType]?.split(';', 1)[0].trim().toLowerCase()
  if (type !== undefined && type !== 'application/json' && type !== 'application/msgpack') {
    throw new InkcastError('bad_content_type', 'content-type must be application/json or application/msgpack')
  }
  if (headers['content-encoding'] !== undefined)
    throw new InkcastError('bad_content_type', 'content-encoding is not supported')
}

/**
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {number} max
 * @returns {number} maximum bytes of the body: its content-length, otherwise the limit
 * @throws {InkcastError} value_too_large
 */
export function bodySize (headers, max) {
  if (headers['transfer-encoding'] !== undefined) return max
  const size = Number(headers['content-length'] ?? 0)
  if (size > max) throw new InkcastError('value_too_large', `the value has ${size} bytes, ${max} are allowed`)
  return size
}

/**
 * @param {import('fastify').FastifyReply} reply
 * @param {string} name
 * @param {string} value a header can't hold just any text
 */
export function setHeader (reply, name, value) {
  if (/^[\x21-\x7e]+$/.test(value)) reply.header(name, value)
}

/**
 * A header's text. Node hands out its bytes as Latin-1; ids and event names are UTF-8, as on a Kafka record.
 *
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} name
 * @returns {string | undefined}
 * @throws {InkcastError} bad_header
 */
export function headerText (headers, name) {
  const given = headers[name]
  if (given === undefined) return undefined
  const text = Array.isArray(given) ? given.join(',') : given
  if (/^[\x20-\x7e]*$/.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  if (!isUtf8(bytes)) throw new InkcastError('bad_header', `${name} is not UTF-8`)
  return bytes.toString()
}
