import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { spawnGuarded } from '../services/guard.js'
import { lacks } from '../services/install.js'
import { waitUntil } from '../services/wait.js'

const run = promisify(execFile)
const DOOR = fileURLToPath(new URL('host-door.js', import.meta.url))

/**
 * Several hosts on one machine, as Linux network namespaces: each has its own network interface, addresses, ports and
 * host name, and a cable to one switch. None of this is visible outside, so any addresses will do.
 *
 * @typedef {object} Host
 * @property {string} name its host name
 * @property {string} address
 * @property {(args: string[]) => string[]} command wraps a command so that it runs on the host
 * @property {(port: number, address?: string) => Promise<number>} door opens a port on this machine's loopback
 *   interface that leads to one of the host; address: default the host's own
 * @property {() => Promise<void>} unplug pulls the cable: packets are lost without an error
 * @property {() => Promise<void>} plugIn
 * @property {() => Promise<void>} killAll SIGKILL to every process on the host
 */

/** @returns {Promise<string | false>} why hosts are not possible here, as a reason to skip */
export async function lacksHosts () {
  if (process.platform !== 'linux') return 'needs Linux: its hosts are network namespaces'
  if (process.getuid?.() !== 0) return 'needs root: its hosts are network namespaces'
  const missing = await lacks(['ip'])
  if (missing) return missing
  const name = `inkcast-try-${randomBytes(3).toString('hex')}`
  try {
    await run('ip', ['netns', 'add', name])
    await run('ip', ['-n', name, 'link', 'add', 'br0', 'type', 'bridge'])
    await run('ip', ['netns', 'exec', name, ...setHostName(name), 'true'])
    return false
  } catch (error) {
    return `needs network namespaces, which are not allowed here: ${/** @type {any} */ (error).stderr?.trim() || error}`
  } finally {
    await run('ip', ['netns', 'del', name]).catch(() => {})
  }
}

/** @param {string} name @returns {string[]} prefix that runs a command with this host name */
const setHostName = (name) => [
  'unshare',
  '--uts',
  'sh',
  '-c',
  'printf %s "$0" >/proc/sys/kernel/hostname && exec "$@"',
  name
]

/**
 * Creates hosts. They are removed with all their processes after the test, also when the test is killed.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} addresses by host name, all in one /24
 * @returns {Promise<Record<string, Host>>}
 */
export async function createHosts (t, addresses) {
  const id = randomBytes(3).toString('hex')
  const names = Object.keys(addresses)
  const namespace = (/** @type {string} */ name) => `inkcast-${id}-${name}`
  const net0 = namespace('switch')
  const directory = makeDirectory('hosts')
  const cleanup = join(directory, 'remove')
  writeFileSync(
    cleanup,
    [...names.map(namespace), net0]
      .map((name) => `ip netns pids ${name} | xargs -r kill -KILL\nip netns del ${name}\n`)
      .join('')
  )
  const guard = spawnGuarded('sleep', ['infinity'], { directory, cleanup: `sh ${cleanup}` })
  t.after(async () => {
    await run('sh', [cleanup])
    await guard.stop(0)
    removeDirectory(directory)
  })

  const ip = (/** @type {string[]} */ ...args) => run('ip', args)
  await ip('netns', 'add', net0)
  await ip('-n', net0, 'link', 'add', 'br0', 'type', 'bridge')
  await ip('-n', net0, 'link', 'set', 'br0', 'up')
  /** @type {Record<string, Host>} */
  const hosts = {}
  for (const [i, name] of names.entries()) {
    const [space, address, port] = [namespace(name), addresses[name], `port${i}`]
    await ip('netns', 'add', space)
    await ip('-n', net0, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
    await ip('-n', net0, 'link', 'set', port, 'master', 'br0', 'up')
    await ip('-n', space, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) await ip('-n', space, 'link', 'set', device, 'up')
    const command = (/** @type {string[]} */ args) => ['ip', 'netns', 'exec', space, ...setHostName(name), ...args]
    hosts[name] = {
      name,
      address,
      command,
      door: await openDoors(t, {
        command,
        address,
        path: join(directory, `${name}.sock`),
        log: join(directory, `${name}.log`)
      }),
      unplug: async () => { await ip('-n', net0, 'link', 'set', port, 'down') },
      plugIn: async () => { await ip('-n', net0, 'link', 'set', port, 'up') },
      killAll: async () => { await run('sh', ['-c', `ip netns pids ${space} | xargs -r kill -KILL`]) }
    }
  }
  return hosts
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {{ command: Host['command'], address: string, path: string, log: string }} options
 * @returns {Promise<Host['door']>}
 */
async function openDoors (t, { command, address: own, path, log }) {
  const [program, ...args] = command([process.execPath, DOOR, path])
  const keeper = spawnGuarded(program, args, { log })
  t.after(() => keeper.stop(0))
  await waitUntil('the door of a host', () => new Promise((resolve, reject) => {
    const socket = net.connect(path, () => { socket.destroy(); resolve(undefined) })
    socket.on('error', reject)
  }), { processes: [keeper], everyMs: 10 })

  return async (port, address = own) => {
    /** @type {Set<net.Socket>} */
    const sockets = new Set()
    const server = net.createServer((outside) => {
      const inside = net.connect(path)
      inside.write(`${address}:${port}\n`)
      outside.setNoDelay(true)
      outside.pipe(inside).pipe(outside)
      for (const [one, other] of [[outside, inside], [inside, outside]]) {
        sockets.add(one)
        one.on('error', () => {})
        one.on('close', (failed) => {
          sockets.delete(one)
          // without an error, data may still be in flight
          if (failed) other.destroy()
          else other.end()
        })
      }
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    t.after(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    return /** @type {net.AddressInfo} */ (server.address()).port
  }
}
