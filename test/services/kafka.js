/**
 * A real Kafka broker (KRaft, one node that is broker and controller) as a local process.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { makeDirectory, removeDirectory } from './directory.js'
import { spawnGuarded } from './guard.js'
import { ensureInstalled } from './install.js'
import { ensureKafkaArchive } from './kafka-archive.js'
import { ensureKafkaJars } from './kafka-jars.js'
import { freePort } from './ports.js'
import { waitUntil } from './wait.js'

const HOST = '127.0.0.1'
// A third less CPU and startup time: suitable for processes that live for seconds to minutes.
const SHORT_LIVED = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/**
 * @typedef {object} KafkaBroker
 * @property {string} brokers host:port, the value for KAFKA_BROKERS
 * @property {number} port
 * @property {number} pid of the running process; changes with a restart
 * @property {string} classpath of Kafka's own tools, for `java -cp`
 * @property {string} directory
 * @property {(graceMs?: number) => Promise<void>} stop ends it and removes its directory; a second call does nothing
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill default SIGKILL; resolves when it has ended. SIGSTOP and
 *   SIGCONT suspend and resume it
 * @property {() => Promise<void>} restart ends it if it still runs and starts it with the same port and data
 * @property {() => Promise<void>} release lets it outlive this process
 * @property {Cluster} cluster that another broker may join
 *
 * @typedef {{ id: string, controllerPort: number }} Cluster its id, and the port of its controller
 */

/**
 * Listeners with TLS beside the usual one.
 * @typedef {object} SecureListeners
 * @property {Partial<Record<'SSL' | 'SASL_SSL', number>>} ports
 * @property {Record<string, string>} settings of the broker
 */

/**
 * Starts a broker on the loopback interface and waits until a client gets its metadata. The first time, its jars are
 * downloaded. Topics are not created automatically. Maximum size of a record batch: 2 MB.
 *
 * @param {object} [options]
 * @param {number} [options.port] default: a free one
 * @param {string} [options.parent] parent of its directory; default: the system's temporary directory
 * @param {boolean} [options.longLived] let Java optimize fully, for a broker that is measured or runs for hours;
 *   default false
 * @param {string} [options.host] address for clients; default: the loopback interface
 * @param {number} [options.advertisedPort] port for clients, of a proxy; default: its own
 * @param {SecureListeners} [options.secure] more listeners on the loopback interface
 * @param {Cluster} [options.joins] cluster of another broker, as its second broker; default: a cluster of its own
 * @returns {Promise<KafkaBroker>}
 * @throws {Error} when it can't be started, with the end of its log
 */
export async function startKafka ({
  port, parent, longLived = false, host = HOST, advertisedPort, secure, joins
} = {}) {
  await ensureInstalled(['java'])
  const classpath = await ensureKafkaJars()
  const javaOptions = longLived ? [] : [...SHORT_LIVED, ...await sharedClasses(classpath)]
  return startBroker({
    port: port ?? (await freePort()),
    retry: port === undefined,
    parent, javaOptions, classpath, host, advertisedPort, secure, joins
  })
}

/** @param {string} classpath @returns {Promise<string[]>} options for Java */
async function sharedClasses (classpath) {
  const archive = await ensureKafkaArchive({
    classpath,
    async train (option) {
      const broker = await startBroker({
        port: await freePort(),
        retry: true,
        javaOptions: [...SHORT_LIVED, option],
        classpath,
        host: HOST
      })
      // the archive is written at the broker's end
      await broker.stop(60_000)
    }
  })
  return archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`]
}

/**
 * Resolves when a client of the broker gets its metadata.
 * @param {string} brokers host:port
 * @param {import('./guard.js').GuardedProcess[]} [processes] rejects when one of these ends
 */
export async function kafkaAnswers (brokers, processes) {
  const kafka = new kafkajs.Kafka({
    clientId: 'inkcast-services',
    brokers: [brokers],
    connectionTimeout: 2000,
    requestTimeout: 5000,
    retry: { retries: 0 },
    logLevel: kafkajs.logLevel.NOTHING
  })
  await waitUntil(`Kafka on ${brokers}`, async () => {
    const admin = kafka.admin()
    try {
      await admin.connect()
      const cluster = await admin.describeCluster()
      // a broker that is not yet in its own metadata has no controller to create topics
      if (cluster.brokers.length === 0 || cluster.controller === null) throw new Error('no broker in the metadata yet')
    } finally {
      await admin.disconnect()
    }
  }, { processes, everyMs: 100, timeoutMs: 60_000 })
}

/**
 * @param {{ port: number, retry: boolean, parent?: string, javaOptions: string[], classpath: string, host: string,
 *   advertisedPort?: number, secure?: SecureListeners, joins?: Cluster }} options retry: with another port if this one
 *   is in use
 * @returns {Promise<KafkaBroker>}
 */
async function startBroker ({ port, retry, joins, ...options }) {
  const { parent, javaOptions, classpath, host, advertisedPort, secure } = options
  const directory = makeDirectory('kafka', parent)
  const log = join(directory, 'kafka.log')
  const properties = join(directory, 'server.properties')
  const brokers = `${host}:${port}`
  /** @param {string[]} options @param {string[]} args */
  const java = (options, ...args) =>
    spawnGuarded('java', [...options, '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', classpath, ...args], {
      log,
      directory,
      cwd: directory
    })
  const launch = async () => {
    const broker = java(['-Xmx512m', ...javaOptions], 'kafka.Kafka', properties)
    try {
      await kafkaAnswers(brokers, [broker])
    } catch (error) {
      await broker.stop(0)
      throw error
    }
    return broker
  }
  const cluster = joins ?? { id: clusterId(), controllerPort: await freePort() }
  /** @type {import('./guard.js').GuardedProcess} */
  let broker
  try {
    const { controllerPort } = cluster
    writeFileSync(
      properties,
      serverProperties({ host, port, advertisedPort, controllerPort, joins: joins !== undefined, directory, secure })
    )
    const format = java(
      ['-Xmx128m', ...SHORT_LIVED, ...javaOptions.filter((option) => option.startsWith('-XX:SharedArchiveFile'))],
      'kafka.tools.StorageTool',
      'format',
      '--cluster-id',
      cluster.id,
      '--config',
      properties
    )
    const { code, signal } = await format.finished()
    if (code !== 0)
      throw new Error(`Kafka's storage can't be formatted (${signal ?? `exit code ${code}`})\n${format.lastOutput()}`)
    broker = await launch()
  } catch (error) {
    removeDirectory(directory)
    if (!retry || !String(error).includes('Address already in use')) throw error
    return startBroker({ port: await freePort(), retry, joins, ...options })
  }
  return {
    brokers,
    port,
    get pid () { return broker.pid },
    classpath,
    directory,
    stop: async (graceMs) => {
      await broker.stop(graceMs)
      removeDirectory(directory)
    },
    kill: (signal) => broker.kill(signal),
    restart: async () => {
      await broker.stop()
      broker = await launch()
    },
    release: () => broker.release(),
    cluster
  }
}

/** 16 random bytes in base64url; a leading "-" would be parsed as an option. */
function clusterId () {
  const bytes = randomBytes(16)
  bytes[0] &= 0x7f
  return bytes.toString('base64url')
}

/**
 * @param {{ host: string, port: number, advertisedPort?: number, controllerPort: number, joins: boolean, directory:
 *   string, secure?: SecureListeners }} options joins: the cluster has a controller and a broker already
 * @returns {string} the content of server.properties
 */
function serverProperties ({ host, port, advertisedPort = port, controllerPort, joins, directory, secure }) {
  const listeners = `PLAINTEXT://${host}:${port}${joins ? '' : `,CONTROLLER://${HOST}:${controllerPort}`}`
  const more = Object.entries(secure?.ports ?? {}).map(([name, at]) => `,${name}://${HOST}:${at}`).join('')
  return textOf({
    'listeners': listeners + more,
    'advertised.listeners': `PLAINTEXT://${host}:${advertisedPort}${more}`,
    'controller.quorum.voters': `1@${HOST}:${controllerPort}`,
    'log.dirs': join(directory, 'data').replaceAll('\\', '\\\\'),
    ...BROKER_SETTINGS,
    ...(joins && { 'process.roles': 'broker', 'node.id': '2' }),
    ...secure?.settings
  })
}

/** Settings of both the local broker and the one in Docker. */
export const BROKER_SETTINGS = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL',
  // a typo in a topic's name must fail
  'auto.create.topics.enable': 'false',
  'message.max.bytes': String(2 * 1024 * 1024),
  // one broker can't hold the default of three copies; few partitions make the first consumer group start sooner
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '4',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  // by default the first member of a group waits 3 s for other members
  'group.initial.rebalance.delay.ms': '0',
  // tests of a dying member need not wait for the default of 6 s
  'group.min.session.timeout.ms': '1000',
  // a killed broker is only readmitted after its previous session has expired: 9 s by default
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '500',
  // the default is a quarter of this broker's heap
  'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024)
}

/** @param {Record<string, string>} settings */
function textOf (settings) {
  return Object.entries(settings).map(([name, value]) => `${name}=${value}\n`).join('')
}
