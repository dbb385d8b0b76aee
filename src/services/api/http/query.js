import { InkcastError } from '../../../base/common/errors.js'

/**
 * Reads a query by the JSON Schemas of an operation: strings and integers with bounds. A schema compiler for these few
 * would take a process of the api 5 MB at rest.
 *
 * @param {Record<string, any>} schemas by parameter
 * @param {Record<string, unknown>} given as it was parsed: a parameter that comes twice is a list
 * @returns {Record<string, string | number>}
 * @throws {InkcastError} bad_request: names the parameter and what it must be, not what it was
 */
export function readQuery (schemas, given) {
  for (const name of Object.keys(given)) if (!Object.hasOwn(schemas, name)) refuse('', 'NOT have additional properties')
  /** @type {Record<string, string | number>} */
  const query = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const value = given[name] === undefined ? schema.default : read(name, schema, given[name])
    if (value !== undefined) query[name] = value
  }
  return query
}

/** @param {string} name @param {any} schema @param {unknown} text */
function read (name, { type, minimum, maximum, minLength, maxLength }, text) {
  if (typeof text !== 'string') return refuse(name, `be ${type}`)
  if (type === 'integer') {
    const number = text === '' ? NaN : Number(text)
    if (!Number.isInteger(number)) refuse(name, 'be integer')
    if (number < minimum) refuse(name, `be >= ${minimum}`)
    if (number > maximum) refuse(name, `be <= ${maximum}`)
    return number
  }
  const { length } = [...text]
  if (length < minLength) refuse(name, `NOT have fewer than ${minLength} characters`)
  if (length > maxLength) refuse(name, `NOT have more than ${maxLength} characters`)
  return text
}

/** @param {string} name @param {string} rule @returns {never} */
function refuse (name, rule) { throw new InkcastError('bad_request', `query ${name && `${name} `}must ${rule}`) }
