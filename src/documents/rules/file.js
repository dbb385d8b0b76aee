import * as v from 'valibot'
import { array, boolean, number, oneOf, parse, strictObject, string, wholeNumber } from '../../base/common/schema.js'
import { HISTORY_LIMITS } from '../../config/document-settings.js'
import { MAX_ID_BYTES } from '../../wire/publication.js'

/** The form of DOCUMENT_RULES_FILE; docs/document-rules.md describes it. */

const MAX_RULES = 10_000

const { size, bytes, ttl } = HISTORY_LIMITS

const flag = v.optional(boolean())

const rule = strictObject({
  prefix: v.pipe(
    string(),
    v.check((prefix) => Buffer.byteLength(prefix) <= MAX_ID_BYTES, `has more than ${MAX_ID_BYTES} bytes`)
  ),
  history: v.optional(strictObject({
    size: v.optional(wholeNumber(size.min, size.max)),
    bytes: v.optional(wholeNumber(bytes.min, bytes.max)),
    ttl: v.optional(wholeNumber(ttl.min, ttl.max)),
    keys: flag
  })),
  presence: flag,
  signals: v.optional(oneOf(['nobody', 'writers', 'everybody'], 'must be nobody, writers or everybody')),
  echo: flag,
  rate: v.optional(v.pipe(number(), v.minValue(0.1), v.maxValue(1e6))),
  webhook: flag
})

const schema = strictObject({ rules: v.pipe(array(rule), v.maxLength(MAX_RULES)) })

/** @typedef {v.InferOutput<typeof rule>} Rule */

/**
 * @param {string} json
 * @returns {Rule[]}
 * @throws {Error} that names the rule, the field and what is wrong
 */
export function parseRules (json) {
  let given
  try {
    given = JSON.parse(json)
  } catch (error) {
    throw new Error(`it is not JSON: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
  const { value, problem } = parse(schema, given)
  if (problem !== undefined) throw new Error(`${placeOf(problem.path, given)}${problem.message}`)
  const { rules } = value
  const seen = new Set()
  for (const { prefix } of rules) {
    if (seen.has(prefix)) throw new Error(`rule ${JSON.stringify(prefix)}: it is there twice`)
    seen.add(prefix)
  }
  return rules
}

/**
 * @param {PropertyKey[]} path
 * @param {any} given
 * @returns {string} `rule "slides/": history.size: `
 */
function placeOf ([list, index, ...rest], given) {
  if (index === undefined) return list === undefined ? '' : `${String(list)}: `
  const prefix = given.rules[index]?.prefix
  const name = typeof prefix === 'string' ? JSON.stringify(prefix) : `number ${Number(index) + 1}`
  return `rule ${name}: ${rest.length === 0 ? '' : `${rest.map(String).join('.')}: `}`
}
