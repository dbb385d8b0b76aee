import { Redis } from 'ioredis'
import { startRedis } from '../services/redis.js'
import { waitFor } from './wait.js'

/**
 * A connection for tests to one Redis. It reconnects.
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @param {{ url: string }} server
 */
export function adminOf (scope, { url }) {
  const admin = new Redis(url, { retryStrategy: () => 50 })
  admin.on('error', () => {})
  scope.after(() => admin.disconnect())
  return admin
}

/**
 * Makes a server a replica of another one, and waits until it has its data.
 * @param {Redis} admin
 * @param {{ port: number }} master
 */
export async function replicate (admin, { port }) {
  await admin.call('REPLICAOF', '127.0.0.1', port)
  await waitFor(async () => /master_link_status:up/.test(await admin.info('replication')), {
    timeout: 20_000,
    message: 'the replication to start'
  })
}

/**
 * A Redis with one replica.
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @param {{ args?: string[], program?: 'redis-server' | 'valkey-server' }} [options] of both
 */
export async function startReplicatedRedis (scope, options = {}) {
  // a replica that is missing for a moment: no time for a full copy
  const { args = [], ...rest } = options
  const [master, replica] = await Promise.all([0, 1].map(() =>
    startRedis({ ...rest, args: ['--repl-diskless-sync-delay', '0', ...args] })))
  scope.after(() => Promise.all([master.stop(), replica.stop()]))
  const [masterAdmin, replicaAdmin] = [master, replica].map((server) => adminOf(scope, server))
  await replicate(replicaAdmin, master)
  return { master, replica, masterAdmin, replicaAdmin }
}
