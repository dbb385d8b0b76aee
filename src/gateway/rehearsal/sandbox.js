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
 * @typedef {import('../../config/listeners.js').Listener} Listener
 *
 * @callback CreateParts creates the parts of the sandbox that have their state in Redis, and its rights
 * @param {import('../../observe/services.js').Services & Pick<Dependencies, 'directory' | 'uplink'>} own
 * @returns {Pick<Dependencies, 'shared' | 'sessions'>
 *   & { rights?: Partial<Dependencies['rights']>, devices?: Devices }}
 *
 * @typedef {object} Devices where the worker has listeners for them
 * @property {import('../doors.js').DoorClasses} classes
 * @property {(gateway: Gateway) => unknown} listen adds the part that knows which connection each device has
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
  const { shared, sessions, rights, devices } = createParts({ ...services, directory, uplink })
  const listeners = devices === undefined
    ? []
    : config.gateway.listeners.filter(({ protocol }) => protocol !== 'socketio')
  const gateway = new Gateway(services, {
    config: {
      ...config,
      history,
      // pages and requests of the sandbox itself
      gateway: { ...config.gateway, allowedOrigins: [], socketPath: DEFAULT_SOCKET_PATH, listeners },
      limits: { ...limits, maxHandshakesPerSecond: 1_000_000 }
    },
    shared, sessions, directory, uplink,
    rights: {
      authenticator: createAuthenticator({ settings: { secret }, log, clock, random }),
      access: createAccess({ settings: {}, log, clock }),
      ...rights
    },
    door: { newId: createSessionIds(0, { clock, random }), certificate, others: devices?.classes }
  })
  await devices?.listen(gateway)
  const { bus } = gateway.parts
  await bus?.start?.()
  await sessions?.start()
  // not a server's own `listen`: with node:cluster all workers would share one port
  const ports = await Promise.all(gateway.servers.all.map(({ server }) => listenFor(server)))

  return {
    gateway,
    secret,
    /** Listeners that clients take in turn; undefined: Socket.IO's. @type {(Listener | undefined)[]} */
    kinds: [undefined, ...listeners],
    /**
     * @param {Listener} [listener] default: Socket.IO's
     * @returns {net.Socket} to the sandbox; plain, or with TLS as the listener
     */
    dial (listener) {
      const own = ports.findIndex((_, i) => gateway.servers.all[i].address === listener)
      const at = Math.max(own, 0)
      const { port } = /** @type {net.AddressInfo} */ (ports[at].address())
      return gateway.servers.all[at].server instanceof tls.Server
        // the certificate is not valid for this address
        ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : net.connect({ port, host: '127.0.0.1', noDelay: true })
    },

    async close () {
      for (const port of ports) port.close()
      await gateway.io.close()
      for (const door of gateway.doors) door.close()
      gateway.httpServer.closeAllConnections()
      await sessions?.stop()
      await bus?.stop?.()
      await certificate?.stop()
    }
  }
}

/** @param {net.Server} server @returns {Promise<net.Server>} a port of loopback whose connections it gets */
async function listenFor (server) {
  const port = net.createServer((socket) => { server.emit('connection', socket) })
  await listen(port, { host: '127.0.0.1', port: 0, exclusive: true })
  return port
}
