import { isIP } from 'node:net'
import tls from 'node:tls'
import { ExactSecureAgent } from './exact-agents.js'

/** Idle timeout of a connection to another machine, ms; the same as without TLS. */
const IDLE_TIME = 1000

/**
 * Connections to workers of other machines that require a certificate. They use the certificate that is in force now.
 *
 * @param {import('../../config/tls/certificate.js').Certificate} [certificate] of this machine
 */
export function createSecureAgent (certificate) {
  /** @type {import('node:https').Agent | undefined} */
  let agent
  let version = 0

  const options = () => {
    if (certificate === undefined)
      throw new Error('the owner of a session is on a machine that requires PEER_TLS_FILES, which is not set here')
    return certificate.clientOptions()
  }

  return {
    /** @returns {import('node:https').Agent} @throws {Error} without a certificate */
    agent () {
      const current = options()
      if (agent === undefined || certificate?.version !== version) {
        // the connections of the old one end when they are idle
        version = certificate?.version ?? 0
        agent = new ExactSecureAgent({
          keepAlive: true,
          maxFreeSockets: 64,
          timeout: IDLE_TIME,
          secureContext: tls.createSecureContext(current)
        })
      }
      return agent
    },

    /** @param {{ host: string, port: number }} address @throws {Error} without a certificate */
    connect: ({ host, port }) =>
      tls.connect({ host, port, ...isIP(host) ? {} : { servername: host }, ...options() }),

    stop () { agent?.destroy() }
  }
}

/**
 * @param {object} listener
 * @returns {listener is { host: string, port: number, tls: true }} its connections need TLS
 */
export const isSecure = (listener) => 'tls' in listener && listener.tls === true
