import { z } from 'zod'
import { OPERATORS, MAX_ID_BYTES } from '../../wire/publication.js'
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

const text = z.string().min(1).max(1024)
const url = z.string().refine((value) => {
  try {
    return ['http:', 'https:'].includes(new URL(value).protocol)
  } catch {
    return false
  }
}, 'must be a URL that starts with https:// or http://')

/** @param {string[]} names @returns {[(value: any) => boolean, string]} */
const exactlyOne = (...names) => [
  (value) => names.filter((name) => value[name] !== undefined).length === 1,
  `must have one of ${names.join(', ')}`
]
/** @template {z.ZodType} T @param {T} type */
const some = (type) => z.array(type).max(MAX_PER_CALLER)

const publishing = new Set(
  operations.filter(({ publishes, answer }) => publishes ?? answer === undefined).map(({ operation }) => operation)
)
const known = new Set(
  ['*', ...STREAMS, ...operations.map(({ operation }) => operation).filter((name) => !publishing.has(name))]
)
const operator = z.string().refine((name) => name === '*' || OPERATORS.has(name), {
  error: `must be one of *, ${[...OPERATORS].join(', ')}`
})
const operation = z.string().superRefine((name, context) => {
  if (known.has(name)) return
  context.addIssue({
    code: 'custom',
    message: publishing.has(name)
      ? `${name} publishes: allow its operator in "operators"`
      : `must be one of ${[...known].join(', ')}`
  })
})
const pattern = z.string().min(1).max(MAX_ID_BYTES)

const token = z
  .strictObject({
    text: text.optional(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits').optional(),
    file: text.optional()
  })
  .refine(...exactlyOne('text', 'sha256', 'file'))

const certificate = z
  .strictObject({
    subject: z.record(z.string(), text).refine((value) => Object.keys(value).length > 0, 'is empty').optional(),
    san: z.string().regex(/^(?:DNS|URI|email|IP Address):./, 'must begin with DNS:, URI:, email: or IP Address:')
      .optional()
  })
  .refine(...exactlyOne('subject', 'san'))

const rate = z.strictObject({ perSecond: z.number().min(0.01).max(1e6), burst: z.number().min(1).max(1e6).optional() })
const rated = new Set([...OPERATORS, ...known])
rated.delete('*')
const rates = z.record(z.string(), rate).superRefine((entries, context) => {
  for (const name of Object.keys(entries))
    if (!rated.has(name))
      context.addIssue({ code: 'custom', path: [name], message: `must be one of ${[...rated].join(', ')}` })
})

const caller = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must have 1 to 64 letters, digits, dots, hyphens or underscores')
      .refine((name) => !RESERVED.includes(name), `must not be one of ${RESERVED.join(', ')}`),
    tokens: some(token).optional(),
    certificates: some(certificate).optional(),
    jwt: some(z.strictObject({ subject: text, issuer: text.optional() })).optional(),
    operators: some(operator).optional(),
    operations: some(operation).optional(),
    guids: some(pattern).optional(),
    uids: some(pattern).optional(),
    rate: rate.optional(),
    rates: rates.optional()
  })
  .refine(
    ({ name, tokens = [], certificates = [], jwt = [] }) =>
      name === WEBHOOK || tokens.length + certificates.length + jwt.length > 0,
    'has no credential: give it tokens, certificates or jwt'
  )
  .refine(
    ({ name, tokens, certificates, jwt, operations }) =>
      name !== WEBHOOK || (tokens ?? certificates ?? jwt ?? operations) === undefined,
    'is the service at UPLINK_URL: it has operators, guids, uids and rates, and neither credentials nor operations'
  )
  .refine(
    ({ operators = [], operations = [] }) => operators.length + operations.length > 0,
    'may do nothing: give it operators or operations ("*" for all)'
  )

const issuer = z
  .strictObject({
    issuer: text,
    audience: z.union([text.transform((one) => [one]), z.array(text).min(1).max(MAX_PER_CALLER)]),
    claim: text.default('sub'),
    jwksUrl: url.optional(),
    publicKeyFile: text.optional(),
    secretFile: text.optional()
  })
  .refine(...exactlyOne('jwksUrl', 'publicKeyFile', 'secretFile'))

const schema = z.strictObject({
  callers: z.array(caller).max(MAX_CALLERS),
  issuers: z.array(issuer).max(MAX_ISSUERS).default([])
})

/** @typedef {z.output<typeof issuer>} IssuerSettings */

/**
 * @param {string} json
 * @returns {z.output<typeof schema>}
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
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]
  throw new Error(`${place(path, given)}${message}`)
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
