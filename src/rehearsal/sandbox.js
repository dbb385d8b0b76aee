import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import WebSocket from 'ws'
import * as json from 'socket.io-parser'
import msgpack from 'socket.io-msgpack-parser'
import { createMemoryBus, createMemoryHub } from '../bus/memory-bus.js'
import { Orders } from '../bus/orders.js'
import { systemClock as clock } from '../common/clock.js'
import { loadConfig } from '../config/load.js'
import { InkcastError } from '../common/errors.js'
import { createLog } from '../common/log.js'
import { createMetrics } from '../metrics/metrics.js'
import { createMemoryPresence, createMemoryPresenceHub } from '../presence/memory-presence.js'
import { listen } from '../process/listen.js'
import { createPublisher } from '../publish/publisher.js'
import { createSessionIds } from '../wire/session-id.js'
import { encodePacket } from '../socketio/codec.js'
import { kConnection } from '../gateway/connection.js'
import { Directory } from '../gateway/directory.js'
import { createGateway } from '../gateway/server.js'
import { gatewayCertificate } from '../tls/listeners.js'

/**
 * The environment of the self-test and the warm-up: a separate gateway without external services (a bus in memory,
 * private metrics, a silent log), and clients that connect to it over loopback. Clients log in with a secret that is
 * generated for one run, so other processes that find the port cannot use it.
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 * @typedef {Parameters<typeof createGateway>[0]} Dependencies
 *
 * @callback CreateParts creates replacements for parts of the sandbox
 * @param {Pick<Dependencies, 'directory' | 'uplink' | 'metrics' | 'log' | 'clock'> & { secret: string }} own
 * @returns {Partial<Dependencies>}
 */

/**
 * @param {import('../config/load.js').Config} config of the worker, including its certificate
 * @param {CreateParts} [createParts]
 */
export async function openSandbox (config, createParts = () => ({})) {
  const secret = randomBytes(32).toString('base64url')
  const log = createLog({ level: 'silent', pretty: false, role: 'self-test' })
  const metrics = createMetrics({ processMetrics: false })
  // default limits: the worker's own may be too small for the test
  const { history, limits } = loadConfig({ env: {} })
  const hub = createMemoryHub({ history, clock })
  const uplink = { start: async () => {}, stop: async () => {}, send: async () => {} }
  const directory = new Directory()
  const bus = createMemoryBus({ hub, workerNumber: 0, log, metrics, clock })
  const certificate = gatewayCertificate({ config, log, metrics, clock })
  await certificate?.start()
  /** @type {Dependencies} */
  const dependencies = {
    config: {
      ...config,
      history,
      gateway: { ...config.gateway, allowedOrigins: [] }, // pages of the sandbox itself
      limits: { ...limits, maxHandshakesPerSecond: 1_000_000 },
      delivery: { ...config.delivery, compressFrom: Math.min(config.delivery.compressFrom, 1) }
    },
    hooked: true,
    directory,
    bus,
    publisher: createPublisher({ bus, limits, metrics, clock }),
    presenceStore: createMemoryPresence({ hub: createMemoryPresenceHub(config.presence), workerNumber: 0 }),
    uplink,
    authenticator: /** @type {any} */ ({
      /** @param {string | undefined} token */
      async authenticate (token) {
        if (token !== secret) throw new InkcastError('unauthorized')
        return { uid: 'self-test', grants: null, expiresAt: null, anonymous: false }
      },
      onWithdrawn () {}
    }),
    certificate,
    access: /** @type {any} */ ({
      check: async () => true, readOnly: () => false, isBanned: () => false, orders: new Orders()
    }),
    newId: createSessionIds(0),
    metrics,
    log,
    clock,
    ...createParts({ secret, directory, uplink, metrics, log, clock })
  }
  const gateway = createGateway(dependencies)
  const parts = gateway.parts.filter(({ name }) => name === 'bus' || name === 'sessions')
  for (const part of parts) await part.start?.()
  // not the HTTP server's own `listen`: with node:cluster all workers would share one port
  const listener = net.createServer((socket) => { gateway.httpServer.emit('connection', socket) })
  await listen(listener, { host: '127.0.0.1', port: 0, exclusive: true })
  const { port } = /** @type {net.AddressInfo} */ (listener.address())
  const address = `//127.0.0.1:${port}/socket.io/?EIO=4`
  const secure = certificate === undefined ? '' : 's'
  // the certificate is not valid for this address
  const agent = secure
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: false })
    : new http.Agent({ keepAlive: true })
  /** @type {SandboxClient[]} */
  const clients = []

  return {
    gateway,
    secret,
    /** @returns {net.Socket} a plain socket (TLS with a certificate) to the same port */
    dial: () =>
      secure
        ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : net.connect({ port, host: '127.0.0.1', noDelay: true }),

    /**
     * During the test, clients that begin with a WebSocket get a session of Engine.IO itself.
     * @template T
     * @param {() => Promise<T>} test
     * @returns {Promise<T>}
     */
    async throughEngineIo (test) {
      const { usesEngineSocket } = gateway.engine
      gateway.engine.usesEngineSocket = false
      try {
        return await test()
      } finally {
        gateway.engine.usesEngineSocket = usesEngineSocket
      }
    },

    /** @param {Codec} codec @param {string} [sid] of a polling session to upgrade */
    async connect (codec, sid) {
      const client = new SandboxClient(
        codec,
        `ws${secure}:${address}&transport=websocket${sid === undefined ? '' : `&sid=${sid}`}`
      )
      clients.push(client)
      await once(client.ws, 'open')
      return client
    },

    /**
     * One request of a polling client.
     * @param {string} [sid]
     * @param {string} [packets]
     * @returns {Promise<string>} packets
     */
    async poll (sid = '', packets = undefined) {
      const req = (secure ? https : http).request(`http${secure}:${address}&transport=polling${sid && `&sid=${sid}`}`, {
        method: packets === undefined ? 'GET' : 'POST',
        agent
      })
      req.end(packets)
      const [res] = await once(req, 'response')
      let text = ''
      for await (const chunk of res) text += chunk
      return text
    },

    /** @param {string} id @returns {import('../gateway/connection.js').Connection | undefined} */
    connection: (id) => /** @type {any} */ (gateway.io.sockets.sockets.get(id))?.[kConnection],

    async close () {
      for (const { ws } of clients) ws.terminate()
      agent.destroy()
      listener.close()
      await gateway.io.close()
      gateway.httpServer.closeAllConnections()
      for (const part of parts.reverse()) await part.stop?.()
      await certificate?.stop()
    }
  }
}

/** A minimal Socket.IO client over WebSocket. */
class SandboxClient {
  #decoder
  #wake = () => {}
  /** @type {Error | undefined} */
  #error
  /** In the order of arrival: arguments of events, types of Engine.IO packets, data of others. @type {any[]} */
  received = []
  closed = false

  /** @param {Codec} codec @param {string} url */
  constructor (codec, url) {
    this.codec = codec
    this.ws = new WebSocket(url, { rejectUnauthorized: false })
    this.#decoder = codec === 'json' ? new json.Decoder() : new msgpack.Decoder()
    this.#decoder.on('decoded', (/** @type {json.Packet} */ packet) => {
      this.received.push(packet)
    })
    this.ws.on('message', (data, isBinary) => this.#take(isBinary ? data : String(data)))
    this.ws.on('error', (error) => {
      this.#error = error
    })
    this.ws.on('close', () => {
      this.closed = true
      this.#wake()
    })
  }

  /** @param {any} data */
  #take (data) {
    try {
      if (typeof data !== 'string' || data[0] === '4')
        this.#decoder.add(typeof data === 'string' ? data.slice(1) : data)
      else this.received.push(data)
    } catch (error) {
      this.#error = /** @type {Error} */ (error)
    }
    this.#wake()
  }

  /** @param {Partial<json.Packet>} packet */
  send (packet) {
    for (const data of encodePacket(this.codec, { nsp: '/', ...packet }))
      this.ws.send(typeof data === 'string' ? `4${data}` : data)
  }

  /**
   * @param {() => boolean} condition checked after each message
   * @param {string} what name of the condition, for errors
   */
  async until (condition, what) {
    while (!condition()) {
      if (this.#error !== undefined) throw new Error(`${what}: ${this.#error.message}`)
      if (this.closed) throw new Error(`${what}: the connection was lost`)
      await new Promise((resolve) => {
        this.#wake = () => resolve(undefined)
      })
    }
  }
}
