/**
 * Environment of a measurement: figures mean nothing without machine and versions. The host name is left out.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'

const require = createRequire(import.meta.url)
const PACKAGES = [
  'socket.io',
  'engine.io',
  'ws',
  'ioredis',
  '@socket.io/redis-adapter',
  '@socket.io/sticky',
  'jsonwebtoken',
  'fast-jwt',
  'kafkajs'
]

/**
 * @typedef {object} Environment
 * @property {string} date ISO 8601
 * @property {string} command
 * @property {{ cpu: string, cores: number, memoryGb: number, kernel: string, load: number }} machine load: average of
 *   the minute before the run
 * @property {Record<string, string>} versions
 */

/**
 * @param {Record<string, string>} [services] versions of services
 * @returns {Environment}
 */
export function environment (services = {}) {
  const [cpu] = os.cpus()
  return {
    date: new Date().toISOString(),
    command: ['node', path.relative(process.cwd(), process.argv[1]), ...process.argv.slice(2)].join(' '),
    machine: {
      cpu: cpu?.model ?? 'unknown',
      cores: os.availableParallelism(),
      memoryGb: Math.round(os.totalmem() / 2 ** 30),
      kernel: `${os.type()} ${os.release()} ${os.arch()}`,
      load: Math.round(os.loadavg()[0] * 100) / 100
    },
    versions: {
      node: process.versions.node,
      v8: process.versions.v8,
      ...services,
      ...Object.fromEntries(PACKAGES.map((name) => [name, installedVersion(name)]))
    }
  }
}

/** Searches above the entry file, because not every package exports its package.json. @param {string} name */
function installedVersion (name) {
  let folder = path.dirname(require.resolve(name))
  while (!folder.endsWith(path.join('node_modules', name))) folder = path.dirname(folder)
  return String(JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version)
}
