import * as v from 'valibot'
import { parse, record, strictObject, wholeNumber } from '../base/common/schema.js'

/**
 * The budget of one application in a cluster, over all processes.
 * @typedef {object} TenantLimits
 * @property {number} [connections] absent: any number
 * @property {number} [events] of clients, per second
 * @property {number} [publications] of callers of the api, per second
 *
 * @typedef {ReadonlyMap<string, TenantLimits>} TenantSettings by the name of the tenant
 */

/** Each has figures of its own in every process, and in the metrics. */
const MAX_TENANTS = 1000
/** Without a slash, which ends the name in ids. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const budget = v.optional(v.pipe(wholeNumber(1), v.maxValue(10_000_000)))

const schema = v.pipe(
  record(strictObject({ connections: budget, events: budget, publications: budget })),
  v.check((tenants) => Object.keys(tenants).length <= MAX_TENANTS, `has more than ${MAX_TENANTS} tenants`),
  v.check(
    (tenants) => Object.keys(tenants).every((name) => NAME.test(name)),
    'has a name that is not 1 to 64 letters, digits, dots, hyphens or underscores'
  )
)

/** @param {string} text @returns {{ tenants?: TenantSettings, problem?: string }} problem: what is wrong */
export function readTenants (text) {
  let given
  try {
    given = JSON.parse(text)
  } catch {
    return { problem: 'must be JSON, as {"acme":{"connections":1000,"events":500,"publications":100}}' }
  }
  const { value, problem } = parse(schema, given)
  if (problem === undefined) return { tenants: new Map(Object.entries(value)) }
  return { problem: [...problem.path.map(String), problem.message].join(': ') }
}
