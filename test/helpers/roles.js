import { randomUUID } from 'node:crypto'
import { composeApi } from '../../src/operate/roles/api.js'
import { composeGateway } from '../../src/operate/roles/gateway.js'
import { loadConfig } from '../../src/config/load.js'
import { reversed } from './file-scope.js'
import { postTo } from './post.js'
import { roleContext, testLog } from './role-context.js'

/**
 * The roles of a cluster over a Redis, as `npm start` runs them, but in this process and without a launcher: for what
 * workers do together, whatever their processes are. A start takes a tenth of the CPU time of startCluster.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {Record<string, string>} env settings; WORKERS as in a cluster, each with a port of its own
 * @param {import('../../src/base/common/log.js').Log} [log] of all roles; default: TEST_LOG_LEVEL, or silent
 */
export async function startRoles (t, env, log = testLog()) {
  const scope = reversed(t)
  const hostName = `host-${randomUUID()}`
  const config = loadConfig({ env: { PORT: '0', API_PORT: '0', ADMIN_PORT: '0', ...env } })
  /** @type {import('../../src/operate/roles/role.js').RoleContext[]} */
  const contexts = []
  /** @param {string} role @param {number} [slot] */
  const contextOf = async (role, slot = 0) => {
    const context = await roleContext(scope, { name: `${role}-${slot}`, slot, hostName, config, log })
    contexts.push(context)
    return context
  }
  const gateways = []
  for (let slot = 0; slot < config.gateway.workers; slot++) {
    const context = await contextOf('gateway', slot)
    gateways.push((await composeGateway(context)).parts.gateway)
  }
  if (config.mode === 'kafka') {
    const { composeIngest } = await import('../../src/operate/roles/ingest.js')
    await composeIngest(await contextOf('ingest'))
  }
  const { api, grpcPort } = await composeApi(await contextOf('api'))
  for (const { status } of contexts) status.started()
  const urls = gateways.map((gateway) => `http://127.0.0.1:${gateway.port()}`)
  const apiUrl = `http://127.0.0.1:${api.port()}`
  return {
    /** of each worker */
    urls,
    /** of the first one */
    url: urls[0],
    apiUrl,
    /** with GRPC_PORT: '0' */
    grpcPort,
    /** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
    post: (path, body, headers) => postTo(apiUrl + path, body, headers),
    /** @returns {Promise<string>} of all roles, one after the other */
    metrics: async () =>
      (await Promise.all(contexts.map(({ metrics }) => metrics.registry.metrics()))).join('\n')
  }
}
