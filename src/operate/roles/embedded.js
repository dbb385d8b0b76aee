import { banner } from './banner.js'
import { reportInMemory } from './in-memory.js'
import { createStore } from '../../redis/store/store.js'
import { composeApi } from './api.js'
import { composeGateway } from './gateway.js'

/**
 * Embedded mode: gateway, api and the built-in store in one process; no other service needed. For development, and for
 * tests of applications.
 *
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed & Pick<import('./gateway.js').GatewayParts, 'gateway'>
 *   & Pick<Awaited<ReturnType<typeof composeApi>>, 'api' | 'grpcPort'>>}
 */
export async function composeEmbedded (context) {
  const { config, clock, random, log, lifecycle } = context
  const store = createStore({ clock, random })
  lifecycle.onStop('store', () => store.close())
  /** Ports as they are bound. */
  const ports = { gateway: () => config.gateway.port, api: () => config.api.port }
  const { workerNumber, connections, parts } = await composeGateway(context, {
    connect: () => store.connect(), ports
  })
  const { gateway } = parts
  ports.gateway = () => gateway.port()
  const { api, grpcPort } = await composeApi(context, parts)
  ports.api = () => api.port()
  reportInMemory(config, log)
  return {
    workerNumber, connections, gateway, api, grpcPort,
    banner: banner(config, { port: gateway.port(), apiPort: api.port() })
  }
}
