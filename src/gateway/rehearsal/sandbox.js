import net from 'node:net'
import tls from 'node:tls'
import { createAuthenticator } from '../../people/auth/authenticator.js'
import { loadConfig } from '../../config/load.js'
import { DEFAULT_SOCKET_PATH } from '../../config/socket-path.js'
import { createLog } from '../../base/common/log.js'
import { createAccess } from '../../documents/access.js'
import { createMetrics } from '../../observe/metrics/metrics.js'
import { listen } from '../../base/process/listen.js'
import { createSessionIds } from '../../wire/session-id.js'
import { Directory } from '../directory.js'
import { Gateway } from '../server.js'
import { gatewayCertificate } from '../../config/tls/listeners.js'

/**
 * The environment of the warm-up: a separate gateway without external services (private metrics, a silent log) that
 * listens on loopback. Clients log in with a secret that is generated for one run, so other processes that find the
 * port cannot use it.
 *
 * @typedef {import('../server.js').GatewayDependencies} Dependencies
 *
 * @callback CreateParts creates the parts of the sandbox that have their state in Redis, and its rights
 * @param {import('../../observe/services.js').Services & Pick<Dependencies, 'directory' | 'uplink'>} own
 * @returns {Pick<Dependencies, 'shared' | 'sessions'> & { rights?: Partial<Dependencies['rights']> }}
 */

/**
 * @param {import('../../config/load.js').Config} config of the worker, including its certificate
 * @param {{ clock: import('../../base/common/clock.js').Clock, random: import('../../base/common/random.js').Random }}
 *   sources
 * @param {CreateParts} createParts
 */
export async function openSandbox (config, { clock, random }, createParts) {
  const secret = random.bytes(32).toString('base64url')
  const log = createLog({ level: 'silent', pretty: false, role: 'warm-up', clock })
  const metrics = createMetrics({ processMetrics: false })
  // default limits: the worker's own may be too small
  const { history, limits } = loadConfig({ env: {} })
  const uplink = { start: async () => {}, stop: async () => {}, send: async () => {} }
  const directory = new Directory()
  const certificate = gatewayCertificate({ config, log, metrics, clock, random })
  await certificate?.start()
  const services = { metrics, log, clock, random }
  const { shared, sessions, rights } = createParts({ ...services, directory, uplink })
  const gateway = new Gateway(services, {
    config: {
      ...config,
      history,
      // pages and requests of the sandbox itself
      gateway: { ...config.gateway, allowedOrigins: [], socketPath: DEFAULT_SOCKET_PATH, listeners: [] },
      limits: { ...limits, maxHandshakesPerSecond: 1_000_000 }
    },
    shared, sessions, directory, uplink,
    rights: {
      authenticator: createAuthenticator({ settings: { secret }, log, clock, random }),
      access: createAccess({ settings: {}, log, clock }),
      ...rights
    },
    door: { newId: createSessionIds(0, { clock, random }), certificate }
  })
  const { bus } = gateway.parts
  await bus?.start?.()
  await sessions?.start()
  // not the HTTP server's own `listen`: with node:cluster all workers would share one port
  const listener = net.createServer((socket) => { gateway.httpServer.emit('connection', socket) })
  await listen(listener, { host: '127.0.0.1', port: 0, exclusive: true })
  const { port } = /** @type {net.AddressInfo} */ (listener.address())

  return {
    gateway,
    secret,
    /** @returns {net.Socket} a plain socket (TLS with a certificate) to the sandbox */
    dial: () =>
      certificate
        // the certificate is not valid for this address
        ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : net.connect({ port, host: '127.0.0.1', noDelay: true }),

    async close () {
      listener.close()
      await gateway.io.close()
      gateway.httpServer.closeAllConnections()
      await sessions?.stop()
      await bus?.stop?.()
      await certificate?.stop()
    }
  }
}
