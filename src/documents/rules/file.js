import { z } from 'zod'
import { HISTORY_LIMITS } from '../../config/document-settings.js'
import { MAX_ID_BYTES } from '../../wire/publication.js'

/** The form of DOCUMENT_RULES_FILE; docs/document-rules.md describes it. */

const MAX_RULES = 10_000

const { size, bytes, ttl } = HISTORY_LIMITS

const rule = z.strictObject({
  prefix: z.string().refine((prefix) => Buffer.byteLength(prefix) <= MAX_ID_BYTES, `has more than ${MAX_ID_BYTES} bytes`),
  history: z
    .strictObject({
      size: z.int().min(size.min).max(size.max).optional(),
      bytes: z.int().min(bytes.min).max(bytes.max).optional(),
      ttl: z.int().min(ttl.min).max(ttl.max).optional(),
      keys: z.boolean().optional()
    })
    .optional(),
  presence: z.boolean().optional(),
  signals: z.enum(['nobody', 'writers', 'everybody'], { error: 'must be nobody, writers or everybody' }).optional(),
  echo: z.boolean().optional(),
  rate: z.number().min(0.1).max(1e6).optional(),
  webhook: z.boolean().optional()
})

const schema = z.strictObject({ rules: z.array(rule).max(MAX_RULES) })

/** @typedef {z.output<typeof rule>} Rule */

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
  const parsed = schema.safeParse(given)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]
    throw new Error(`${placeOf(path, given)}${message}`)
  }
  const { rules } = parsed.data
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
