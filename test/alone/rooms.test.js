import { roomsContract } from '../contract/rooms.js'
import { startCluster } from '../helpers/cluster.js'
import { createHosts, lacksHosts } from '../helpers/hosts.js'
import { lacks } from '../services/install.js'
import { spawnGuarded } from '../services/guard.js'
import { test } from 'node:test'

/** Rooms over two machines with networks of their own; a third one has Redis. */
const skip = await lacksHosts() || await lacks(['redis-server'])
if (skip) test('rooms: two machines', { skip })
else {
  roomsContract('two machines', {
    workers: 3,
    async start (scope, env) {
      const hosts = await createHosts(scope, { machine1: '10.0.0.11', machine2: '10.0.0.12', services: '10.0.0.13' })
      const { address } = hosts.services
      const [program, ...args] = hosts.services.command(
        ['redis-server', '--bind', address, '--port', '6379', '--save', '', '--protected-mode', 'no']
      )
      const redis = spawnGuarded(program, args)
      scope.after(() => redis.stop())
      const machines = await Promise.all(/** @type {const} */ ([['machine1', '2'], ['machine2', '1']]).map(
        ([name, WORKERS]) => startCluster(
          scope,
          { ...env, WORKERS, REDIS_URL: `redis://${address}:6379`, HOST: '0.0.0.0', ADMIN_HOST: '0.0.0.0' },
          { host: hosts[name] }
        )
      ))
      return machines.map(({ url }) => url)
    }
  })
}
