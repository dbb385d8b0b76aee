import { z } from 'zod'
import { problemOfRedisUrl, splitRedisUrls } from './redis-url.js'

/**
 * The surroundings of a process. `network` is the text of NETWORK, not checked.
 * @typedef {{ production: boolean, cores: number, connections: number, network?: string }} Context
 */

/**
 * One setting. The generated pages (docs/configuration.md, .env.example) list them.
 *
 * @typedef {object} Setting
 * @property {string} as the name in the config object
 * @property {z.ZodType} type reads the text of the environment
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
 * Values in words, for the table: what the schema itself does not say.
 * @template {z.ZodType} T
 * @param {string} allowed
 * @param {T} type
 * @returns {T}
 */
export const described = (allowed, type) => type.meta({ allowed })

export const text = () => z.string().min(1)
/** @param {number} min @param {number} max */
export const integer = (min, max) => z.string().regex(/^-?\d+$/, 'must be a whole number').transform(Number)
  .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
export const port = () => integer(0, 65535)
/** @param {number} min @param {number} max */
export const milliseconds = (min, max) => integer(min, max)
export const flag = () =>
  z
    .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    .transform((value) => value === 'true' || value === '1')
export const list = () => described('list, comma separated', z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
))
/** @template {string} T @param {[T, ...T[]]} values */
export const choice = (...values) => z.enum(values, { error: `must be one of ${values.join(', ')}` })
/** @param {string[]} protocols */
export const url = (...protocols) => described(`URL: ${protocols.map((protocol) => `\`${protocol}//\``).join(' or ')}`, z.string().refine((value) => {
  try {
    return protocols.includes(new URL(value).protocol)
  } catch {
    return false
  }
}, `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`))
export const redisUrls = () => described('list of URLs, comma separated', z.string()).transform(splitRedisUrls).pipe(z.array(z.string().check((context) => {
  const message = problemOfRedisUrl(context.value)
  // the value may have a password
  if (message !== undefined) context.issues.push({ code: 'custom', message, input: undefined })
})))
