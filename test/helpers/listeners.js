import path from 'node:path'
import { createAgent } from '../../src/operate/admin/agent.js'
import { createPrivateListener } from '../../src/operate/admin/private-listener.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createPeerListener } from '../../src/transport/peers/peer-listener.js'
import { createSessionListener } from '../../src/transport/peers/session-listener.js'
import { TIMES } from '../../src/base/process/socket-times.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { startAdmin } from './admin.js'
import { startEmbedded } from './embedded.js'

/** @typedef {import('node:net').NetConnectOpts} Address */

const at = (/** @type {number} */ port) => ({ host: '127.0.0.1', port })
const portOf = (/** @type {string} */ url) => at(Number(new URL(url).port))

/**
 * Starts every listener that inkcast has.
 * @param {{ after: (run: () => unknown) => void }} scope
 * @param {import('../../src/base/common/log.js').Log} log of all of them
 * @returns {Promise<{ http: Record<string, Address>, others: Record<string, Address> }>} by name; others do not speak
 *   HTTP/1
 */
export async function startListeners (scope, log) {
  const metrics = createMetrics({ processMetrics: false })
  const directory = makeDirectory('listeners')
  scope.after(() => removeDirectory(directory))
  /** @param {{ start: () => unknown, stop: () => unknown }} part */
  const started = async (part) => {
    await part.start()
    scope.after(() => part.stop())
  }

  const development = await startEmbedded(scope, { GRPC_PORT: '0' }, log)
  const production = await startEmbedded(scope, {
    NODE_ENV: 'production', HOST: '127.0.0.1', AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: 'test:0123456789abcdef',
    COMPRESS_FROM: '1024', LOG_LEVEL: 'silent'
  }, log)
  const { engine } = development.gateway
  const sessions = path.join(directory, 'sessions')
  await started(createSessionListener({
    path: sessions, socketPath: '/socket.io/', engine, secrets: () => ['secret'], times: TIMES, metrics, log, clock: systemClock
  }))
  const control = path.join(directory, 'control')
  await started(createPrivateListener({ path: control, status: development.status, log, clock: systemClock }))
  const peers = createPeerListener({
    socketPath: '/socket.io/', address: { host: '127.0.0.1', ports: [0] }, metrics, log, clock: systemClock
  })
  await started(peers)
  peers.serve(engine, () => ['secret'])
  const agent = createAgent({
    settings: { host: '127.0.0.1', agentPort: 0 }, capacity: 1,
    processes: { read: async () => ({ processes: [], reasons: [] }) }, log, clock: systemClock
  })
  await started(agent)

  return {
    http: {
      'the gateway': portOf(development.url),
      'the gateway in production, with compression': portOf(production.url),
      'the api': portOf(development.apiUrl),
      'the api with tokens': portOf(production.apiUrl),
      'the admin port': portOf((await startAdmin(scope)).url),
      'the private socket': { path: control },
      'the socket for requests of other workers': { path: sessions },
      'the listener for other machines': at(peers.port())
    },
    others: { gRPC: at(development.grpcPort()), 'the load agent': at(agent.port()) }
  }
}
