import { createDocumentRules } from '../../documents/rules/rules.js'
import { createRedis } from '../../redis/client.js'
import { createDurability } from '../../redis/durability/durability.js'
import { createInspectParts } from '../../watch/inspect/parts.js'
import { createRedisTransport } from '../../watch/inspect/redis-transport.js'
import { createRedisOverview } from '../../watch/overview/redis-overview.js'
import { TenantBudgets } from '../../people/tenants/budgets.js'
import { createReport } from '../../watch/overview/report.js'

/**
 * Shared by the parts of a role: all that its process has (role.js), and all that several roles have. Nothing is
 * started: the page of each role lists its parts in the order of their start.
 *
 * @typedef {Awaited<ReturnType<typeof createServices>>} RoleServices
 */

/**
 * @param {import('./role.js').RoleContext} context
 * @param {string} name of the role
 * @param {() => import('node:stream').Duplex} [connect] opens a connection to the built-in store of this process
 */
export async function createServices (context, name, connect) {
  const { config, log, metrics, clock, random, host, status, describe, onWaits } = context
  const base = { log, metrics, clock, random }
  const redis = createRedis({ ...base, ...config.redis, connect, name, onWaits })
  status.addCheck(() => redis.trouble)
  const overview = createRedisOverview({ redis })
  const { tenants: settings } = config.limits
  return {
    ...context,
    base,
    rules: createDocumentRules({ ...base, history: config.history, path: config.documents.rulesFile }),
    redis,
    overview,
    /** undefined: there are none, and nothing is counted. */
    tenants: settings && new TenantBudgets({ ...base, redis, settings }),
    inspector: context.inspects
      ? createInspectParts({
          ...base, transport: createRedisTransport({ redis, log }), process: context.name, host: host.name,
          privateRoutes: context.privateRoutes
        })
      : undefined,
    kafka: config.mode === 'kafka' ? await context.createKafka() : undefined,

    /** For roles that write for clients and services: their writes wait for it (PUBLISH_WAIT). */
    createDurability () {
      const durability = createDurability({ ...base, redis, settings: config.redis, name })
      status.addWarnings(() => durability.warnings())
      return durability
    },

    /** @param {{ readonly number: number }} [worker] of a gateway */
    createReport: (worker) => createReport({
      ...base, store: overview, describe: async () => ({ ...await describe(), worker: worker?.number })
    })
  }
}
