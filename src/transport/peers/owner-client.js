import http from 'node:http'
import https from 'node:https'
import net, { isIP } from 'node:net'
import tls from 'node:tls'
import { RELEASE } from '../engine/request.js'
import { ExactAgent } from './exact-agents.js'
import { PROOF_HEADER, proofFor } from './request-proof.js'
import { createSecureAgent, isSecure } from './secure-agent.js'

/** @typedef {import('./owner-routes.js').Route} Route */

/** Timeout for a connection to an owner; after it the owner counts as dead, ms. */
export const CONNECT_TIMEOUT = 2000
/**
 * Idle timeout of a connection to an owner, ms: shorter than the owner's, which could otherwise close it under a
 * request.
 */
const IDLE_TIME = 30_000
/**
 * Idle timeout of a connection to another machine, ms: a lost machine does not respond on an old connection, and only a
 * new connection detects that.
 */
const PEER_IDLE_TIME = 1000

/**
 * Connections and requests to owners of sessions: to the session listener of a worker of this machine, or to the peer
 * listener of another machine, with a proof and, where it requires one, with TLS.
 *
 * @typedef {ReturnType<typeof createOwnerClient>} OwnerClient
 *
 * @param {object} dependencies
 * @param {() => string} dependencies.secret for the proof (request-proof.js)
 * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] of this machine, for owners
 *   on other
 *   machines that require one
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createOwnerClient ({ secret, certificate, clock }) {
  const agents = {
    path: new ExactAgent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_TIME }),
    host: new ExactAgent({ keepAlive: true, maxFreeSockets: 64, timeout: PEER_IDLE_TIME })
  }
  const secure = createSecureAgent(certificate)

  /** @param {Route['listener']} listener @returns {https.RequestOptions} */
  const address = (listener) => {
    if ('path' in listener) return { socketPath: listener.path, agent: agents.path }
    const { host, port } = listener
    if (!isSecure(listener)) return { host, port, agent: agents.host }
    // by default Node checks the certificate against the client's header Host
    return { host, port, servername: isIP(host) ? '' : host, agent: secure.agent() }
  }

  return {
    /**
     * @param {Route} route
     * @param {string | undefined} method
     * @param {string | undefined} url
     * @returns {Record<string, string>} headers that the owner asks for
     */
    proof: ({ listener }, method, url) =>
      'host' in listener || method === RELEASE
        ? { [PROOF_HEADER]: proofFor(secret(), method ?? '', url ?? '', clock.now()) }
        : {},

    /**
     * @param {Route} route
     * @param {http.RequestOptions} options
     * @param {(answer: http.IncomingMessage) => void} onAnswer
     */
    request: ({ listener }, options, onAnswer) =>
      (isSecure(listener) ? https.request : http.request)({ ...address(listener), ...options }, onAnswer),

    /** @param {Route} route @returns {net.Socket} see `onceOpen` */
    connect: ({ listener }) => isSecure(listener) ? secure.connect(listener) : net.connect(listener),

    stop () {
      for (const agent of Object.values(agents)) agent.destroy()
      secure.stop()
    }
  }
}

/**
 * @param {net.Socket} socket destroyed if it is not connected within the timeout
 * @param {() => void} onOpen once it is connected, with TLS after the handshake; immediately if it is already
 */
export function onceOpen (socket, onOpen) {
  if (isOpen(socket)) return onOpen()
  socket.setTimeout(CONNECT_TIMEOUT, () => {
    if (!isOpen(socket)) socket.destroy(new Error('connect timeout'))
  })
  socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', onOpen)
}

/** @param {net.Socket} socket */
const isOpen = (socket) => !socket.connecting && /** @type {any} */ (socket).secureConnecting !== true
