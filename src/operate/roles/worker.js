import path from 'node:path'
import { sessionSocket } from '../admin/run-directory.js'
import { timesWithPolls } from '../../base/process/socket-times.js'
import { createTakenNumbers } from '../../people/workers/taken-numbers.js'
import { WorkerLease } from '../../people/workers/worker-lease.js'
import { MisroutedRequests } from '../../transport/peers/misrouted-requests.js'
import { createPeerListener } from '../../transport/peers/peer-listener.js'

/**
 * A gateway among the others: its number, and the addresses at which workers reach each other.
 *
 * @typedef {import('./services.js').RoleServices} RoleServices
 * @typedef {import('../../config/tls/certificate.js').Certificate} Certificate
 * @typedef {ReturnType<typeof createPeerListener>} PeerListener
 */

/** @param {Pick<RoleServices, 'launcher' | 'host' | 'privatePath'>} services @returns {string} unix socket for them */
export const sessionPathOf = ({ launcher, host, privatePath }) =>
  sessionSocket(path.dirname(privatePath), 'gateway', launcher.slot, host.pid)

/**
 * @param {RoleServices} services
 * @param {Certificate} [certificate] started; default: without TLS
 * @returns {PeerListener | undefined} for workers of other machines; undefined: there are none
 */
export function createPeers ({ config, base, launcher: { slot } }, certificate) {
  const { peerHost: host, peerPort, workers, socketPath } = config.gateway
  return host === undefined
    ? undefined
    : createPeerListener({
        ...base,
        socketPath,
        // during a replacement the old worker still has the port of the slot
        address: { host, ports: peerPort === 0 ? [0] : [peerPort + slot, peerPort + workers + slot] },
        certificate,
        times: timesWithPolls(config.heartbeat.network)
      })
}

/** @param {RoleServices} services @param {PeerListener} [peers] started @returns {WorkerLease} */
export function createLease (services, peers) {
  const { config, base, launcher, host, redis } = services
  const { host: gatewayHost, port, peerHost, peerTls } = config.gateway
  return new WorkerLease({
    ...base,
    redis,
    // the same after a restart of the launcher or of the container
    slot: `${host.name}:${gatewayHost}:${port}:${launcher.slot}`,
    address: {
      machine: host.machine,
      pid: host.pid,
      path: sessionPathOf(services),
      ...(peers && { peer: { host: /** @type {string} */ (peerHost), port: peers.port(), tls: peerTls !== undefined } })
    },
    isAlive: host.isAlive,
    // another worker may have this number now, and would get this worker's requests: restart with another one
    onLost: () => host.exit(1)
  })
}

/**
 * @param {RoleServices} services
 * @param {WorkerLease} lease started
 * @param {Certificate} [certificate] for workers of other machines
 */
export function createMisrouted ({ base, launcher, host, redis, privatePath }, lease, certificate) {
  const taken = createTakenNumbers({ ...base, redis })
  return new MisroutedRequests({
    ...base,
    workerNumber: lease.number,
    secret: () => lease.secrets[0],
    certificate,
    async findRoute (number) {
      if (!(await taken.has(number))) return undefined
      const owner = await lease.owner(number)
      if (owner === undefined) return undefined
      if (owner.machine !== host.machine) return owner.peer && { listener: owner.peer, handover: false }
      return {
        listener: { path: owner.path },
        handover: launcher.relaysHandles && path.dirname(owner.path) === path.dirname(privatePath)
      }
    }
  })
}
