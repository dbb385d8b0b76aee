import { InkcastError } from '../../../base/common/errors.js'
import { rawItems } from '../../../wire/json-walk.js'
import { checkIds } from '../http/request.js'
import { fieldOfHeader } from './names.js'

/**
 * Turns requests into calls of an operation, and answers into responses, by the table of operations.
 *
 * @typedef {import('../operations/operation.js').Operation} Operation
 * @typedef {import('../operations/operation.js').Call} Call
 * @typedef {Record<string, any>} Message fields in camel case; absent ones are undefined
 */

/**
 * @param {Operation} operation
 * @param {Message} request
 * @returns {Pick<Call, 'params' | 'query' | 'header' | 'body' | 'batch'>}
 * @throws {InkcastError} bad_request, bad_target
 */
export function callFrom ({ path, query = {}, headers = [], body }, request) {
  const params = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, request[name] ?? '']))
  const known = new Set(headers)
  if (body === 'value') known.add('content-type')
  return {
    params: checkIds(params),
    query: queryFrom(query, request),
    header: (name) => known.has(name) ? headerText(request[fieldOfHeader(name)]) : undefined,
    ...bodyFrom(body, request, known)
  }
}

/** @param {Record<string, object>} query @param {Message} request */
function queryFrom (query, request) {
  const entries = Object.entries(query).map(([name, schema]) => [name, checked(name, schema, request[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** @param {Operation['body']} body @param {Message} request @param {Set<string>} headers */
function bodyFrom (body, request, headers) {
  if (body === undefined) return { body: undefined }
  if (body === 'value') return { body: request.value ?? Buffer.alloc(0) }
  if (body.batch) return { body: undefined, batch: (request.publications ?? []).map(itemFrom) }
  const inHeaders = new Set([...headers].map(fieldOfHeader))
  const given = Object.keys(/** @type {any} */ (body.schema).properties ?? {})
    .filter((name) => !inHeaders.has(name) && request[name] !== undefined)
  if (given.length === 0) return { body: undefined }
  return { body: Buffer.from(JSON.stringify(Object.fromEntries(given.map((name) => [name, request[name]])))) }
}

/**
 * @param {Message} publication
 * @returns {import('../operations/operation.js').BatchItem}
 */
export const itemFrom = ({ value = Buffer.alloc(0), ...item }) => ({ item, value })

/** @param {unknown} value @returns {string | undefined} */
function headerText (value) {
  if (!Array.isArray(value)) return value === undefined ? undefined : String(value)
  // a comma would make two of one
  if (value.some((one) => one.includes(','))) throw new InkcastError('bad_header', 'an id in except has a comma')
  return value.join(',')
}

/** @param {string} name @param {any} schema @param {any} value @returns {any} */
function checked (name, schema, value) {
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity, enum: values } = schema
  if (value === undefined) return schema.default
  const { length = minLength } = value
  const outside = value < minimum || value > maximum || length < minLength || length > maxLength
  if (outside || values?.includes(value) === false)
    throw new InkcastError('bad_request', `${name} is out of its range`)
  return value
}

/**
 * @param {Operation} operation
 * @param {object | Buffer} answer
 * @returns {Message}
 */
export function responseFrom ({ answer: fields, optional }, answer) {
  const given = Buffer.isBuffer(answer) ? parse(answer) : answer
  return fields === undefined ? given : convert({ type: 'object', properties: { ...fields, ...optional } }, given)
}

/** @param {Buffer} json values of records stay the bytes they are */
function parse (json) {
  const text = json.toString()
  const answer = JSON.parse(text)
  const values = rawItems(text, 'records', 'value') ?? []
  for (const [i, value] of values.entries()) if (value !== undefined) answer.records[i].value = Buffer.from(value)
  return answer
}

/** @param {any} schema @param {any} value @returns {any} */
function convert (schema, value) {
  if (value === null || value === undefined) return undefined
  const given = schema.anyOf?.find((/** @type {any} */ one) => one.type !== 'null') ?? schema
  if (given.type === undefined && given.enum === undefined && given.const === undefined)
    return Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
  if (Array.isArray(value)) return value.map((one) => convert(given.items, one))
  if (typeof value !== 'object') return value
  if (given.properties === undefined)
    return typeof given.additionalProperties === 'object'
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, convert(given.additionalProperties, one)]))
      : JSON.stringify(value)
  const message = Object.fromEntries(
    Object.keys(given.properties).map((name) => [name, convert(given.properties[name], value[name])])
  )
  if (value.valueBase64 !== undefined) message.value = Buffer.from(value.valueBase64, 'base64')
  return message
}
