/**
 * The floors (bench/floor): writes only, in one process, without Redis, Kafka, handshakes or Socket.IO; and the
 * libraries with writes only.
 */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../../test/services/directory.js'
import { onPath } from '../../test/services/install.js'
import { freePort } from '../../test/services/ports.js'
import { startSystem } from './system.js'

const fileOf = (/** @type {string} */ name) => fileURLToPath(new URL(`../floor/${name}`, import.meta.url))

/** @param {string} name @param {(port: number) => { command?: string, args: string[] }} program */
async function startFloor (name, program) {
  const port = await freePort()
  return startSystem({
    name,
    ...program(port),
    port,
    env: { PORT: String(port) },
    ready: (output) => { if (!output.includes('listening')) throw new Error('the server is not listening yet') },
    roleOf: () => 'floor'
  })
}

/** `net.Socket.write`. @type {import('./system.js').StartSystem} */
export const startNodeFloor = ({ nodeArgs = [] }) =>
  startFloor('floor, Node', () => ({ args: [...nodeArgs, fileOf('server.js')] }))

/** Handshakes alone. @type {import('./system.js').StartSystem} */
export const startHandshakeFloor = ({ nodeArgs = [] }) =>
  startFloor('floor', () => ({ args: [...nodeArgs, fileOf('handshake.js')] }))

/** `send()`. @type {import('./system.js').StartSystem} */
export async function startCFloor () {
  const directory = makeDirectory('bench-floor')
  const program = path.join(directory, 'floor')
  try {
    await promisify(execFile)('cc', ['-O2', '-o', program, fileOf('server.c')])
    const system = await startFloor('floor, C', (port) => ({ command: program, args: [String(port)] }))
    return {
      ...system,
      stop: async () => {
        await system.stop()
        removeDirectory(directory)
      }
    }
  } catch (error) {
    removeDirectory(directory)
    throw error
  }
}

/** kafkajs, ioredis and `net.Socket.write`. @type {import('./system.js').StartSystem} */
export async function startLibrariesFloor ({ workers, redisUrl, kafkaBrokers, nodeArgs = [] }) {
  const port = await freePort()
  return startSystem({
    name: 'floor, libraries',
    args: [...nodeArgs, fileOf('libraries/primary.js')],
    port,
    env: { PORT: String(port), WORKERS: String(workers), REDIS_URL: redisUrl, KAFKA_BROKERS: kafkaBrokers },
    ready: (output) => {
      const started = output.match(/^(worker listens|ingest reads)$/gm)?.length ?? 0
      if (started < workers + 1) throw new Error(`${started} of ${workers + 1} processes have started`)
    },
    roleOf: (command) => /libraries\/(\w+)\.js/.exec(command)?.[1] ?? 'primary'
  })
}

/** @returns {string | null} reason why the C floor cannot run here */
export const noCFloor = () => onPath('cc') ? null : 'there is no C compiler (cc)'
