/**
 * Services for a test run: those named by the environment, else those left running by `npm run services start`, else
 * fresh ones, in Docker if an engine responds, else as local processes.
 */
import { dockerAnswers, startKafkaInDocker, startRedisClusterInDocker, startRedisInDocker } from './docker.js'
import { onPath } from './install.js'
import { startKafka } from './kafka.js'
import { ensureKafkaJars } from './kafka-jars.js'
import { startRedis, startRedisCluster } from './redis.js'
import { runningServices, SERVICE_NAMES, VARIABLES } from './state.js'

/** @typedef {import('./state.js').ServiceName} ServiceName */
/** @typedef {{ url: string, classpath?: string, origin: string, stop: () => Promise<void> }} Provided */
/** @typedef {Record<ServiceName, () => Promise<Omit<Provided, 'origin'>>>} Starters */

/** @type {Starters} */
const LOCAL = {
  redis: () => startRedis(),
  cluster: () => startRedisCluster(),
  kafka: async () => withUrl(await startKafka())
}

/** @type {Starters} */
const DOCKER = {
  redis: startRedisInDocker,
  cluster: startRedisClusterInDocker,
  kafka: async () => withUrl(await startKafkaInDocker())
}

/** @template {{ brokers: string }} T @param {T} broker */
const withUrl = (broker) => ({ ...broker, url: broker.brokers })

/**
 * @typedef {object} Services
 * @property {Record<'REDIS_URL' | 'REDIS_CLUSTER_URL' | 'KAFKA_BROKERS' | 'KAFKA_CLASSPATH', string>} env for the
 *   tests; KAFKA_CLASSPATH is empty where Java or the jars are not available
 * @property {() => Promise<void>} stop ends only what was started here
 */

/**
 * Starts missing services, in parallel.
 *
 * @param {object} [options]
 * @param {NodeJS.ProcessEnv} [options.env] TEST_SERVICES=local or docker forces one way; default: Docker if it
 *   responds, and local processes if the containers fail to start
 * @param {(line: string) => void} [options.say] progress
 * @returns {Promise<Services>}
 * @throws {Error} when a service can't be started; the others are stopped again
 */
export async function provideServices ({ env = process.env, say = () => {} } = {}) {
  const existing = runningServices()
  const wanted = env.TEST_SERVICES
  /** @type {Promise<boolean> | undefined} */
  let docker
  const useDocker = () =>
    (docker ??=
      wanted === 'local' ? Promise.resolve(false) : wanted === 'docker' ? Promise.resolve(true) : dockerAnswers())

  /** @param {ServiceName} name @returns {Promise<Provided>} */
  const provide = async (name) => {
    const given = env[VARIABLES[name]]
    if (given) return { url: given, origin: 'given', stop: async () => {} }
    const entry = existing[name]
    if (entry !== undefined) return { ...entry, origin: 'npm run services', stop: async () => {} }
    if (await useDocker()) {
      try {
        return { ...await DOCKER[name](), origin: 'Docker' }
      } catch (error) {
        if (wanted === 'docker') throw error
        say(`${name}: ${error instanceof Error ? error.message : error}; trying without Docker`)
      }
    }
    return { ...await LOCAL[name](), origin: 'local' }
  }

  const results = await Promise.allSettled(SERVICE_NAMES.map(async (name) => {
    const begin = performance.now()
    const service = await provide(name)
    say(`${name}: ${service.url} (${service.origin}, ${((performance.now() - begin) / 1000).toFixed(1)} s)`)
    return service
  }))
  const stop = async () => {
    await Promise.all(results.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)))
  }
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [`${SERVICE_NAMES[index]}: ${result.reason?.message}`] : []
  )
  if (failures.length > 0) {
    await stop()
    throw new Error(failures.join('\n'))
  }
  const [redis, cluster, kafka] = results.map(
    (result) => /** @type {PromiseFulfilledResult<Provided>} */ (result).value
  )
  return {
    env: {
      REDIS_URL: redis.url,
      REDIS_CLUSTER_URL: cluster.url,
      KAFKA_BROKERS: kafka.url,
      KAFKA_CLASSPATH: env.KAFKA_CLASSPATH || kafka.classpath || await classpath(kafka.origin, say)
    },
    stop
  }
}

/**
 * The Java producer is a client that works with any broker. Docker users need not have Java, so it is not installed for
 * them.
 * @param {string} origin
 * @param {(line: string) => void} say
 */
async function classpath (origin, say) {
  if (origin === 'Docker' && !(onPath('java') && onPath('mvn'))) return ''
  try {
    return await ensureKafkaJars()
  } catch (error) {
    say(`no Java producer: ${error instanceof Error ? error.message : error}`)
    return ''
  }
}
