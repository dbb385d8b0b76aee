import { connect } from 'node:net'
import { join } from 'node:path'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { startRedis } from '../services/redis.js'
import { settableClock } from './shim.js'

/**
 * Hashes keep the order in which their fields were written, as far as Redis can, and MAXLEN ~ trims exactly. Keys
 * expire when they are touched. The thread of the memory allocator waits for a time of the wall clock: on one that
 * stands still it would take a whole core.
 */
const ARGS = [
  '--unixsocket', 'redis.sock', '--enable-debug-command', 'yes', '--stream-node-max-bytes', '1',
  '--hash-max-listpack-entries', '100000', '--hash-max-listpack-value', '100000000', '--jemalloc-bg-thread', 'no'
]

/**
 * Real Redis on a clock that is set.
 * @param {{ after: (stop: () => unknown) => void }} scope
 * @returns {Promise<import('./peer.js').Server>}
 */
export async function startReal (scope) {
  const directory = makeDirectory('differential')
  scope.after(() => removeDirectory(directory))
  const clock = await settableClock(directory)
  scope.after(clock.close)
  const server = await startRedis({ args: ARGS, env: clock.env, program: 'redis-server' })
  scope.after(() => server.stop())
  return {
    name: 'Redis',
    connect: () => connect(join(server.directory, 'redis.sock')),
    setTime: clock.set
  }
}
