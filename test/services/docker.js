/**
 * The same services from the official images, for machines with a Docker engine. Their containers end with this
 * process, however it ends.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { spawnGuarded } from './guard.js'
import { BROKER_SETTINGS, kafkaAnswers } from './kafka.js'
import { freePort } from './ports.js'
import { clusterAddresses, clusterArgs, joinCluster, redisAnswers } from './redis.js'

const run = promisify(execFile)

const REDIS_IMAGE = 'redis:7'
const KAFKA_IMAGE = 'apache/kafka:4.2.0'

/** @returns {Promise<boolean>} whether an engine answers within 3 s */
export async function dockerAnswers () {
  try {
    const { stdout } = await run('docker', ['info', '--format', '{{.ServerVersion}}'], {
      timeout: 3000,
      killSignal: 'SIGKILL'
    })
    return stdout.trim() !== ''
  } catch {
    return false
  }
}

/**
 * Downloads a missing image, so that the download does not count as startup time.
 * @param {string} image
 */
async function pull (image) {
  try {
    await run('docker', ['image', 'inspect', image])
  } catch {
    console.error(`services: downloading the image ${image}`)
    await run('docker', ['pull', '--quiet', image], { timeout: 600_000 })
  }
}

/**
 * @typedef {object} Container
 * @property {() => Promise<void>} stop ends and removes it; a second call does nothing
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill default SIGKILL. Ending a container this way removes it
 *   with its data
 * @property {() => Promise<void>} restart restarts a running container with the same ports, and with its data if it
 *   stores any
 */

/**
 * Runs a container whose ports have the same numbers inside and outside: a broker and a cluster node give clients their
 * own address, which must be valid on both sides.
 *
 * @param {{ image: string, ports: number[], env?: Record<string, string>, command?: string[], ready: () =>
 *   Promise<void> }} options
 * @returns {Promise<Container>}
 */
async function startContainer ({ image, ports, env = {}, command = [], ready }) {
  await pull(image)
  const name = `inkcast-test-${randomBytes(6).toString('hex')}`
  // The engine runs the container; the keeper only ends with this process, and its guard then removes the container.
  const keeper = spawnGuarded('sleep', ['2147483647'], { cleanup: `docker rm -f ${name}` })
  const stop = async () => {
    if (!keeper.running()) return
    await run('docker', ['rm', '-f', name]).catch(() => {}) // the container ended on its own, and --rm removed it
    await keeper.stop()
  }
  try {
    await run('docker', ['run', '--rm', '-d', '--name', name,
      ...ports.flatMap((port) => ['-p', `127.0.0.1:${port}:${port}`]),
      ...Object.entries(env).flatMap(([variable, value]) => ['-e', `${variable}=${value}`]),
      image, ...command])
    await ready()
  } catch (error) {
    const { stdout, stderr } = await run('docker', ['logs', '--tail', '15', name]).catch(() => ({
      stdout: '',
      stderr: ''
    }))
    await stop()
    throw new Error(
      `${image} does not start in Docker: ${error instanceof Error ? error.message : error}\n${stdout}${stderr}`,
      { cause: error }
    )
  }
  return {
    stop,
    kill: async (signal = 'SIGKILL') => {
      const ended = run('docker', ['wait', name])
      ended.catch(() => {}) // awaited below only for signals that end the container
      await run('docker', ['kill', '--signal', signal, name])
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended
    },
    restart: async () => {
      await run('docker', ['restart', name])
      await ready()
    }
  }
}

/** @returns {Promise<Container & { url: string, port: number }>} */
export async function startRedisInDocker () {
  const port = await freePort()
  const container = await startContainer({
    image: REDIS_IMAGE,
    ports: [port],
    command: ['redis-server', '--port', String(port), '--protected-mode', 'no', '--save', '', '--appendonly', 'no'],
    ready: () => redisAnswers(port)
  })
  return { ...container, url: `redis://127.0.0.1:${port}`, port }
}

/**
 * Three nodes in one container: there they reach each other under 127.0.0.1, the address that clients get too.
 * @returns {Promise<Container & { url: string }>}
 */
export async function startRedisClusterInDocker () {
  const addresses = await clusterAddresses(3)
  const servers = addresses.map(({ port, busPort }) =>
    `redis-server --port ${port} --protected-mode no --save '' --appendonly no ${clusterArgs(busPort).join(' ')} &`)
  const container = await startContainer({
    image: REDIS_IMAGE,
    ports: addresses.map(({ port }) => port),
    command: ['sh', '-c', `${servers.join(' ')} wait`],
    ready: async () => {
      for (const { port } of addresses) await redisAnswers(port)
      await joinCluster(addresses)
    }
  })
  return { ...container, url: addresses.map(({ port }) => `redis://127.0.0.1:${port}`).join(',') }
}

/** @returns {Promise<Container & { brokers: string, port: number }>} */
export async function startKafkaInDocker () {
  const port = await freePort()
  const brokers = `127.0.0.1:${port}`
  const settings = {
    ...BROKER_SETTINGS,
    'listeners': `PLAINTEXT://0.0.0.0:${port},CONTROLLER://127.0.0.1:9093`,
    'advertised.listeners': `PLAINTEXT://${brokers}`,
    'controller.quorum.voters': '1@127.0.0.1:9093'
  }
  const container = await startContainer({
    image: KAFKA_IMAGE,
    ports: [port],
    // the image builds its server.properties from variables: message.max.bytes is KAFKA_MESSAGE_MAX_BYTES
    env: {
      ...Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, value])
      ),
      KAFKA_HEAP_OPTS: '-Xmx512m'
    },
    ready: () => kafkaAnswers(brokers)
  })
  return { ...container, brokers, port }
}
