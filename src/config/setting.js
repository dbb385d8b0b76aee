import * as v from 'valibot'
import { oneOf, string } from '../base/common/schema.js'
import { originOf, problemOfOrigin } from './origin-text.js'
import { problemOfRedisPrefix } from './redis-prefix.js'
import { listenerOf, problemOfListener } from './listeners.js'
import { problemOfRedisUrl, socketPathOf as unixSocketOf, splitRedisUrls } from './redis-url.js'
import { problemOfSocketPath, socketPathOf } from './socket-path.js'

/**
 * The surroundings of a process.
 * @typedef {{ production: boolean, cores: number, connections: number, hasRedis: boolean,
 *   redisPrefix: string }} Context
 *   hasRedis: REDIS_URL is set; redisPrefix: REDIS_PREFIX or its default
 */

/**
 * One setting. The generated pages (docs/configuration.md, .env.example) list them.
 *
 * @typedef {object} Setting
 * @property {string} as the name in the config object
 * @property {v.GenericSchema} type reads the text of the environment
 * @property {string} [default] as it would be written in the environment; absent: none, the value is undefined
 * @property {(context: Context) => string | undefined} [derived] a default that depends on the surroundings
 * @property {string} [defaultText] what the table shows for a derived default
 * @property {boolean} [secret] never shown
 * @property {string} describe for the reader of the table, with units
 */

/**
 * A block of settings of one concept.
 * @template {Record<string, Setting>} const T
 * @param {string} title
 * @param {T} settings by environment name
 * @returns {{ title: string, settings: T }}
 */
export const block = (title, settings) => ({ title, settings })

/**
 * Description of the values for the table: in words, or as bounds or choices.
 * @typedef {{ allowed?: string, min?: number, max?: number, choices?: readonly string[] }} Allowed
 */

/**
 * @template T
 * @param {v.GenericSchema<unknown, T>} type
 * @param {Allowed} allowed
 */
const shown = (type, allowed) => v.pipe(type, v.metadata(allowed))

/** @param {Setting} setting @returns {Allowed} */
export const allowedOf = ({ type }) => v.getMetadata(type)

/**
 * Values in words, for the table.
 * @template T
 * @param {string} allowed
 * @param {v.GenericSchema<unknown, T>} type
 */
export const described = (allowed, type) => shown(type, { allowed })

export const text = () => described('text', v.pipe(string(), v.nonEmpty()))
/** @param {number} min characters @param {string} [why] for the message */
export const longText = (min, why = '') => described(
  `text, at least ${min} characters`,
  v.pipe(string(), v.minCodePoints(min, `must have at least ${min} characters${why}`))
)
/** @param {number} min @param {number} max */
export const integer = (min, max) => shown(v.pipe(
  string(),
  v.regex(/^-?\d+$/, 'must be a whole number'),
  v.transform(Number),
  v.minValue(min),
  v.maxValue(max)
), { min, max })
export const share = () => described('0 to 1', v.pipe(
  string(),
  v.regex(/^(?:0|1|0?\.\d{1,9})$/, 'must be a number from 0 to 1, such as 0.001'),
  v.transform(Number)
))
export const port = () => integer(0, 65535)
/** @param {number} min @param {number} max */
export const milliseconds = (min, max) => integer(min, max)
export const flag = () => shown(v.pipe(
  oneOf(['true', 'false', '1', '0'], 'must be true or false'),
  v.transform((value) => value === 'true' || value === '1')
), { choices: ['true', 'false'] })
/** '' is unset, as Docker Compose passes it. An empty list would turn off the check that the list is for. */
const namesSomething = v.check(
  (/** @type {string} */ value) => value === '' || /[^,\s]/.test(value), 'must be unset, or name something'
)
export const list = () => described('list, comma separated', v.pipe(string(), namesSomething, v.transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
)))

/**
 * PEM files of one side of TLS: its chain, the key of it, and the authorities of the other side.
 * @typedef {{ cert: string, key: string, ca?: string }} PemFiles
 */
/**
 * Each path has its purpose before it, and not a place in the list: a chain in the place of `ca` would let in everyone
 * with a certificate of a public authority.
 * @param {...string} forms the purposes that belong together, as `cert,key`
 */
export const pemFiles = (...forms) => described(
  'files by purpose',
  v.pipe(
    list(),
    v.transform((entries) => entries.map((entry) => entry.split(/:(.*)/s, 2))),
    v.check(
      (pairs) => pairs.every(([, path]) => path) &&
        forms.includes(pairs.map(([purpose]) => purpose).sort(byPurpose).join()),
      `must be ${shownForms(forms)}`
    ),
    v.transform((pairs) => /** @type {PemFiles} */ (Object.fromEntries(pairs)))
  )
)
/** @param {string[]} forms */
const shownForms = (forms) => forms.map((form) => form.replace(/\w+/g, '$&:<path>')).join(' or ')
const PURPOSES = ['cert', 'key', 'ca']
/** @param {string} a @param {string} b */
const byPurpose = (a, b) => PURPOSES.indexOf(a) - PURPOSES.indexOf(b)

const CLIENT_FORMS = ['ca', 'cert,key', 'cert,key,ca']
/**
 * TLS of connections that inkcast opens, with files or without.
 * @returns {v.GenericSchema<unknown, Partial<PemFiles> | undefined>} undefined: none
 */
export const clientTls = () => described('`true`, `false` or files by purpose', v.pipe(
  v.union([flag(), pemFiles(...CLIENT_FORMS)], `must be true, false, ${shownForms(CLIENT_FORMS)}`),
  v.transform((value) => typeof value === 'object' ? value : value ? {} : undefined)
))

/**
 * @param {(entry: string) => boolean} isRight
 * @param {string} message
 */
export const listOf = (isRight, message) => v.pipe(list(), v.checkItems((entry) => isRight(entry), message))
/** @template {string} T @param {[T, ...T[]]} values */
export const choice = (...values) => shown(oneOf(values), { choices: values })
/** @param {string[]} protocols */
const shownProtocols = (protocols) => `URL: ${protocols.map((protocol) => `\`${protocol}//\``).join(' or ')}`
/** @param {string[]} protocols @param {(value: string) => boolean} [applies] */
const hasProtocol = (protocols, applies = () => true) => v.check(
  (/** @type {string} */ value) =>
    !applies(value) || (URL.canParse(value) && protocols.includes(new URL(value).protocol)),
  `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`
)
/** fetch refuses a URL with a user, and quotes it in its error. */
const withoutUser = v.check((/** @type {string} */ value) => {
  if (!URL.canParse(value)) return true // reported already
  const { username, password } = new URL(value)
  return username === '' && password === ''
}, 'must have no user and no password: a request with them is never sent')
/** @param {string[]} protocols */
export const url = (...protocols) =>
  described(shownProtocols(protocols), v.pipe(string(), hasProtocol(protocols), withoutUser))
/** @param {string[]} protocols */
export const pathOrUrl = (...protocols) =>
  described(`path, or ${shownProtocols(protocols)}`, v.pipe(string(), v.nonEmpty(), hasProtocol(protocols, isUrl), withoutUser))
/** @param {string} value of pathOrUrl */
export const isUrl = (value) => value.includes('://')
/** @returns a list of origins as browsers send them, patterns of them, or `*` */
export const origins = () => described('list of origins and patterns, comma separated, or `*`', v.pipe(
  list(),
  v.checkItems((entry) => problemOfOrigin(entry) === undefined, ({ input }) => problemOfOrigin(input) ?? ''),
  v.transform((entries) => entries.map(originOf))
))
export const socketPath = () => described('path', v.pipe(
  string(),
  v.check((value) => problemOfSocketPath(value) === undefined, ({ input }) => problemOfSocketPath(input) ?? ''),
  v.transform(socketPathOf)
))
export const listeners = () => described('list of `ws:/path` or `protocol://host:port/path`, comma separated', v.pipe(
  list(),
  v.checkItems((entry) => problemOfListener(entry) === undefined, ({ input }) => problemOfListener(input) ?? ''),
  v.transform((entries) => entries.map(listenerOf))
))
export const redisPrefix = () => described('letters, digits, and `-` `_` `.` `:`', v.pipe(
  string(),
  v.check((value) => problemOfRedisPrefix(value) === undefined, ({ input }) => problemOfRedisPrefix(input) ?? '')
))
export const redisUrls = () => described('list of URLs, comma separated', v.pipe(
  string(),
  namesSomething,
  v.transform(splitRedisUrls),
  v.checkItems((entry) => problemOfRedisUrl(entry) === undefined, ({ input }) => problemOfRedisUrl(input) ?? ''),
  v.check(
    (urls) => urls.length < 2 || urls.every((url) => unixSocketOf(url) === undefined),
    'must be one URL if it is unix:///path: nodes of Redis Cluster have addresses'
  )
))
