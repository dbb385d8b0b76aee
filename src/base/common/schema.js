import * as v from 'valibot'

/**
 * Schemas of everything that comes from outside: settings, files, claims and messages of clients. Use `string`,
 * `object` … of this module; checks such as `v.minValue` come from valibot.
 *
 * valibot writes each refused value into its message, and values may be credentials. So the messages are written here,
 * from the schema only. valibot also reads the name of the value's class, and a client that uses msgpack chooses the
 * prototype of its objects (a field `__proto__`): converting this name to text may be slow or throw. So a value of a
 * wrong type is undefined before valibot checks it.
 */

/**
 * @typedef {object} Problem the first one
 * @property {PropertyKey[]} path
 * @property {string} message reads well after the path, and never has a part of the value; a field that is not known
 *   is named
 */

/** Settings of valibot for these calls only: extensions may use it in the same process. */
const CONFIG = Object.freeze({ lang: 'inkcast', message: messageOf, abortEarly: true })

/**
 * @template T
 * @param {v.GenericSchema<unknown, T>} schema
 * @param {unknown} input
 * @returns {{ value: T, problem?: undefined } | { value?: undefined, problem: Problem }}
 */
export function parse (schema, input) {
  const { success, output, issues } = v.safeParse(schema, input, CONFIG)
  return success ? { value: output } : { problem: problemOf(issues[0]) }
}

/** @param {v.BaseIssue<unknown>} issue @returns {Problem} */
function problemOf (issue) {
  const path = issue.path?.map(({ key }) => /** @type {PropertyKey} */ (key)) ?? []
  return { path: isUnknownField(issue) ? path.slice(0, -1) : path, message: issue.message }
}

/** @param {v.BaseIssue<unknown>} issue */
const isUnknownField = ({ type, expected }) => type === 'strict_object' && expected === 'never'

/** @type {Record<string, (requirement: any) => string>} */
const MESSAGES = {
  string: () => 'must be a string',
  number: () => 'must be a number',
  boolean: () => 'must be true or false',
  array: () => 'must be an array',
  object: () => 'must be an object',
  strict_object: () => 'must be an object',
  non_empty: () => 'must not be empty',
  integer: () => 'must be a whole number',
  min_value: (min) => `must be at least ${min}`,
  max_value: (max) => `must be at most ${max}`,
  max_code_points: (max) => `must have at most ${max} characters`,
  max_length: (max) => `must have at most ${max} entries`
}

/** @param {v.BaseIssue<unknown>} issue @returns {string} for schemas and checks without a message of their own */
function messageOf (issue) {
  if (isUnknownField(issue)) return `has an unknown field ${JSON.stringify(issue.input)}`
  if (issue.path?.[0].origin === 'key') return 'is missing'
  return MESSAGES[issue.type]?.(issue.requirement) ?? 'is not valid'
}

/**
 * @template {v.GenericSchema} S
 * @param {(value: unknown) => boolean} isRight others are undefined for the schema, see above
 * @param {S} schema
 * @returns {v.GenericSchema<unknown, v.InferOutput<S>>}
 */
const only = (isRight, schema) =>
  v.pipe(v.unknown(), v.transform((value) => isRight(value) ? value : undefined), schema)

export const string = () => only((value) => typeof value === 'string', v.string())
export const number = () => only((value) => typeof value === 'number', v.number())
export const boolean = () => only((value) => typeof value === 'boolean', v.boolean())

/** @param {number} min not below -(2 ** 53 - 1) @param {number} [max] */
export const wholeNumber = (min, max = Number.MAX_SAFE_INTEGER) =>
  v.pipe(number(), v.integer(), v.minValue(min), v.maxValue(max))

/**
 * @template {string} const T
 * @param {readonly [T, ...T[]]} values
 * @param {string} [message]
 * @returns {v.GenericSchema<unknown, T>}
 */
export const oneOf = (values, message = `must be one of ${values.join(', ')}`) =>
  custom(/** @type {(value: unknown) => value is T} */ ((value) => values.includes(/** @type {T} */ (value))), message)

/**
 * @template T
 * @param {(value: unknown) => value is T} isRight
 * @param {string} message
 * @returns {v.GenericSchema<unknown, T>}
 */
export const custom = (isRight, message) =>
  only(isRight, v.custom(/** @type {typeof isRight} */ ((value) => value !== undefined), message))

/** @template {v.GenericSchema} S @param {S} item */
export const array = (item) => only(Array.isArray, v.array(item))

/**
 * Whether the value is an object with fields of its own, not binary, a date or an array. A msgpack client chooses the
 * prototype of its objects: of a binary as prototype some fields throw, and a loop over all of them takes long.
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
export function isRecord (value) {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  // the msgpack decoder turns a field `__proto__: null` into the prototype
  return prototype === Object.prototype || prototype === null
}

/** Fields that are not known are left out. @template {v.ObjectEntries} const E @param {E} entries */
export const object = (entries) => only(isRecord, v.object(entries))

/** Fields that are not known are refused. @template {v.ObjectEntries} const E @param {E} entries */
export const strictObject = (entries) => only(isRecord, v.strictObject(entries))

/**
 * An object with any fields. `v.record` drops fields named `constructor`, `prototype` and `__proto__`: a certificate
 * would then match with fewer attributes than its settings name. In a Map they are names like others.
 *
 * @template T
 * @param {v.GenericSchema<any, T>} value
 * @param {v.GenericSchema<unknown, string>} [name] default: any
 * @returns {v.GenericSchema<unknown, Record<string, T>>}
 */
export const record = (value, name = string()) => v.pipe(
  custom(isRecord, 'must be an object'),
  v.transform((fields) => /** @type {Map<unknown, unknown>} */ (new Map(Object.entries(fields)))),
  v.map(name, value),
  v.transform((fields) => Object.fromEntries(fields))
)
