import * as v from 'valibot'
import { array, number, oneOf, parse, record, strictObject, string } from '../../../base/common/schema.js'
import { OPERATORS } from '../../../wire/operators.js'
import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { operations } from '../operations/index.js'
import { WEBHOOK } from './book.js'

/** The form of API_CALLERS_FILE; docs/callers.md describes it. */

const MAX_CALLERS = 1000
const MAX_PER_CALLER = 100
const MAX_ISSUERS = 20

/** Names that records of other origins have as their source. */
const RESERVED = ['client', 'local']
/** Operations that only gRPC has. */
const STREAMS = ['events']

const text = v.pipe(string(), v.nonEmpty(), v.maxCodePoints(1024))
const optionalText = v.optional(text)
const url = v.pipe(string(), v.check((value) => {
  try {
    return ['http:', 'https:'].includes(new URL(value).protocol)
  } catch {
    return false
  }
}, 'must be a URL that starts with https:// or http://'))

/** @template T @param {(keyof T & string)[]} names @returns {v.CheckAction<T, string>} */
const exactlyOne = (...names) => v.check(
  (value) => names.filter((name) => value[name] !== undefined).length === 1,
  `must have exactly one of ${names.join(', ')}`
)
/** @template T @param {v.GenericSchema<unknown, T>} type */
const some = (type) => v.optional(v.pipe(array(type), v.maxLength(MAX_PER_CALLER)))

const publishing = new Set(
  operations.filter(({ publishes, answer }) => publishes ?? answer === undefined).map(({ operation }) => operation)
)
const known = new Set(
  ['*', ...STREAMS, ...operations.map(({ operation }) => operation).filter((name) => !publishing.has(name))]
)
const operator = v.pipe(
  string(),
  v.check((name) => name === '*' || OPERATORS.has(name), `must be one of *, ${[...OPERATORS].join(', ')}`)
)
const operation = v.pipe(string(), v.check(
  (name) => known.has(name),
  ({ input: name }) => publishing.has(name)
    ? `${name} publishes: allow its operator in "operators"`
    : `must be one of ${[...known].join(', ')}`
))
const pattern = v.pipe(string(), v.nonEmpty(), v.maxCodePoints(MAX_ID_BYTES))

const token = v.pipe(
  strictObject({
    text: optionalText,
    sha256: v.optional(v.pipe(string(), v.regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits'))),
    file: optionalText
  }),
  exactlyOne('text', 'sha256', 'file')
)

const certificate = v.pipe(
  strictObject({
    subject: v.optional(v.pipe(record(text), v.check((value) => Object.keys(value).length > 0, 'is empty'))),
    san: v.optional(v.pipe(
      string(),
      v.regex(/^(?:DNS|URI|email|IP Address):./, 'must begin with DNS:, URI:, email: or IP Address:')
    ))
  }),
  exactlyOne('subject', 'san')
)

const rate = strictObject({
  perSecond: v.pipe(number(), v.minValue(0.01), v.maxValue(1e6)),
  burst: v.optional(v.pipe(number(), v.minValue(1), v.maxValue(1e6)))
})
const rated = /** @type {[string]} */ ([...OPERATORS, ...known].filter((name) => name !== '*'))

const caller = v.pipe(
  strictObject({
    name: v.pipe(
      string(),
      v.regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
        'must have 1 to 64 letters, digits, dots, hyphens or underscores'
      ),
      v.check((name) => !RESERVED.includes(name), `must not be one of ${RESERVED.join(', ')}`)
    ),
    tokens: some(token),
    certificates: some(certificate),
    jwt: some(strictObject({ subject: text, issuer: optionalText })),
    operators: some(operator),
    operations: some(operation),
    guids: some(pattern),
    uids: some(pattern),
    groups: some(pattern),
    tenant: optionalText,
    rate: v.optional(rate),
    rates: v.optional(record(rate, oneOf(rated)))
  }),
  v.check(
    ({ name, tokens = [], certificates = [], jwt = [] }) =>
      name === WEBHOOK || tokens.length + certificates.length + jwt.length > 0,
    'has no credential: give it tokens, certificates or jwt'
  ),
  v.check(
    ({ name, tokens, certificates, jwt, operations, groups }) =>
      name !== WEBHOOK || (tokens ?? certificates ?? jwt ?? operations ?? groups) === undefined,
    'is the service at UPLINK_URL: it has operators, guids, uids and rates, and neither credentials, operations nor groups'
  ),
  v.check(
    ({ operators = [], operations = [] }) => operators.length + operations.length > 0,
    'may do nothing: give it operators or operations ("*" for all)'
  )
)

const issuer = v.pipe(
  strictObject({
    issuer: text,
    audience: v.union(
      [
        v.pipe(text, v.transform((one) => [one])),
        v.pipe(array(text), v.nonEmpty(), v.maxLength(MAX_PER_CALLER))
      ],
      'must be a string, or an array of strings, of 1 to 1,024 characters'
    ),
    claim: v.optional(text, 'sub'),
    jwksUrl: v.optional(url),
    publicKeyFile: optionalText,
    secretFile: optionalText
  }),
  exactlyOne('jwksUrl', 'publicKeyFile', 'secretFile')
)

const schema = strictObject({
  callers: v.pipe(array(caller), v.maxLength(MAX_CALLERS)),
  issuers: v.optional(v.pipe(array(issuer), v.maxLength(MAX_ISSUERS)), () => [])
})

/** @typedef {v.InferOutput<typeof issuer>} IssuerSettings */

/**
 * @param {string} json
 * @returns {v.InferOutput<typeof schema>}
 * @throws {Error} that names what is wrong, without what was given: it may be a credential
 */
export function parseCallers (json) {
  let given
  try {
    given = JSON.parse(json)
  } catch (error) {
    // V8 quotes the text
    const at = /at position \d+(?: \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '')
    // no cause: that would be in the log, with the text
    // eslint-disable-next-line preserve-caught-error
    throw new Error(`it is not JSON${at === null ? '' : ` (${at[0]})`}`)
  }
  const { value, problem } = parse(schema, given)
  if (problem === undefined) return value
  throw new Error(`${place(problem.path, given)}${problem.message}`)
}

/**
 * @param {PropertyKey[]} path
 * @param {any} given
 * @returns {string} `caller "editor": rate.perSecond: `
 */
function place ([list, index, ...rest], given) {
  const field = rest.length === 0 ? '' : `${rest.map(String).join('.')}: `
  if (index === undefined) return list === undefined ? '' : `${String(list)}: `
  const { name, issuer: iss } = given[list][index] ?? {}
  const known = list === 'callers' ? name : iss
  const one = typeof known === 'string' ? JSON.stringify(known.slice(0, 64)) : `number ${Number(index) + 1}`
  return `${String(list).slice(0, -1)} ${one}: ${field}`
}
