/**
 * A system under test: a tree of server processes that listens on one port of the loopback interface. It can't outlive
 * this process (test/services/guard.js).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectory, removeDirectory } from '../../test/services/directory.js'
import { spawnGuarded } from '../../test/services/guard.js'
import { waitUntil } from '../../test/services/wait.js'
import { processTree } from '../measure/processes.js'

export const HOST = '127.0.0.1'

/**
 * @typedef {object} SystemSettings common settings of the systems
 * @property {number} workers
 * @property {string} redisUrl
 * @property {string} secret of the tokens
 * @property {string} [kafkaBrokers]
 * @property {string[]} [nodeArgs] for every process of the system, such as --cpu-prof
 * @property {string} [extension] file of an extension, which the baseline loads as well
 * @property {Record<string, string>} [env] other settings of inkcast
 *
 * @typedef {'plain' | 'mqtt' | 'mqtt-qos0'} DeviceClients
 *
 * @typedef {object} System
 * @property {string} name
 * @property {import('../client/websocket-client.js').Target} target
 * @property {DeviceClients} [clients] kind of its clients, where it is not the usual one
 * @property {boolean} [expires] whether it closes connections whose token has expired
 * @property {import('../measure/processes.js').ServerProcess[]} processes the root process first
 * @property {() => string} output
 * @property {() => Promise<void>} stop
 *
 * @typedef {(settings: SystemSettings) => Promise<System>} StartSystem
 */

/**
 * @param {object} options
 * @param {string} options.name
 * @param {string} [options.command] default: this Node
 * @param {string[]} options.args
 * @param {number} options.port
 * @param {Record<string, string | undefined>} options.env in addition to PATH and HOME
 * @param {(output: string) => unknown} options.ready throws (or rejects) until the system is ready
 * @param {(command: string) => string} options.roleOf
 * @returns {Promise<System>}
 */
export async function startSystem ({ name, command = process.execPath, args, port, env, ready, roleOf }) {
  const directory = makeDirectory(`bench-${name}`)
  const log = join(directory, 'output.log')
  const output = () => readFileSync(log, 'utf8')
  const { PATH, HOME } = process.env
  const child = spawnGuarded(command, args, {
    log, directory, env: { PATH, HOME, NODE_ENV: 'production', ...env }
  })
  const stop = async () => {
    await child.stop(30_000)
    removeDirectory(directory)
  }
  try {
    await waitUntil(name, async () => { await ready(output()) }, { processes: [child] })
  } catch (error) {
    await stop()
    throw error
  }
  return { name, target: { host: HOST, port }, processes: processTree(child.pid, roleOf), output, stop }
}
