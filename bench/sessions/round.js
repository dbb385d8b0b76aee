/**
 * Many connections and a killed worker: which events are sent, when, how often, and whether all counts are correct.
 */
import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createLog } from '../../src/base/common/log.js'
import { createRedis } from '../../src/redis/client.js'
import { createKeys } from '../../src/redis/keys.js'
import { createRedisSessions } from '../../src/people/sessions/redis-sessions.js'
import { startKafka } from '../../test/services/kafka.js'
import { startRedis } from '../../test/services/redis.js'
import { ClientPool } from '../client/pool.js'
import { guidOf } from '../job.js'
import { startInkcast } from '../systems/inkcast.js'

const { documentHolders, workers: WORKERS, workerUsers } = createKeys()

/**
 * @typedef {object} SessionSettings
 * @property {number} connections
 * @property {number} documents over which the connections are distributed
 * @property {number} alone additional connections, each in a document of its own
 *
 * @typedef {object} RoundResult
 * @property {string} kind
 * @property {number} connections
 * @property {number} onlineMs from the last handshake until all were reported as online and joined
 * @property {number} killed connections of the killed worker
 * @property {number} goneMs until readers found none of them
 * @property {number} firstMs until the first offline event
 * @property {number} lastMs until all expected events
 * @property {Record<string, number>} events expected ones, by operator
 * @property {number} missing
 * @property {number} doubled
 * @property {number} unexpected
 * @property {number} wrongCounts documents whose number of members differs from the remaining ones
 */

const SECRET = 'a secret for benchmarks, of more than 32 characters'
/** First number of the documents with one client each. */
const ALONE = 1_000_000
const TIMEOUT = 60_000
/** Time to wait for duplicates, ms. */
const LATE = 8000

/** Whether a launcher restarts the killed worker. */
export const KINDS = /** @type {const} */ (['restarted', 'not replaced'])

/**
 * @param {typeof KINDS[number]} kind
 * @param {SessionSettings} settings
 * @param {(what: string) => void} onPhase
 * @returns {Promise<RoundResult>}
 */
export async function runRound (kind, settings, onPhase) {
  /** @type {(() => unknown)[]} */
  const closers = []
  try {
    onPhase('starting')
    const scene = await prepare(closers)
    onPhase('connecting')
    const onlineMs = await connect(scene, settings)
    onPhase('killing')
    const from = scene.events.length
    const { begin, left, gone } = await killWorker(scene, kind, settings, closers)
    const { guids, membersLeft, expected } = expectedOf({ left, gone }, settings.documents)
    const { goneMs, firstMs, lastMs } = await watch(scene, { from, begin, gone, expected })
    const told = scene.events.slice(from).map(({ what }) => what)
    const [toldOnce, wanted] = [new Set(told), new Set(expected)]
    onPhase('counting')
    let wrongCounts = 0
    for (const guid of guids) {
      const held = (await scene.redis.client.hkeys(documentHolders(guid))).filter((uid) => uid !== '')
      if (held.length !== (membersLeft.get(guid) ?? 0)) wrongCounts++
    }
    const ofKind = (/** @type {string} */ operator) => expected.filter((what) => what.startsWith(operator)).length
    return {
      kind,
      connections: settings.connections + settings.alone,
      onlineMs,
      killed: gone.length,
      goneMs,
      firstMs,
      lastMs,
      events: { offline: ofKind('offline'), left: ofKind('left'), vacated: ofKind('vacated') },
      missing: expected.filter((what) => !toldOnce.has(what)).length,
      doubled: told.length - toldOnce.size,
      unexpected: [...toldOnce].filter((what) => !wanted.has(what)).length,
      wrongCounts
    }
  } finally {
    for (const closer of closers.reverse()) await closer()
  }
}

/** @typedef {Awaited<ReturnType<typeof prepare>>} Scene */

/** @param {(() => unknown)[]} closers */
async function prepare (closers) {
  const server = await startRedis()
  closers.push(server.stop)
  const broker = await startKafka({ longLived: true })
  closers.push(broker.stop)
  const system = await startInkcast({ workers: 2, redisUrl: server.url, secret: SECRET, kafkaBrokers: broker.brokers })
  closers.push(system.stop)
  const redis = createRedis({
    urls: [server.url],
    name: 'bench',
    log: createLog({ level: 'silent', pretty: false, role: 'bench', slot: 0, clock: systemClock }),
    clock: systemClock,
    random: systemRandom
  })
  await redis.start()
  closers.push(() => redis.stop())
  const { events, stop } = await collect(broker.brokers)
  closers.push(stop)
  const clients = new ClientPool(3)
  closers.push(() => clients.stop())
  return { system, redis, events, clients }
}

/** @param {Scene} scene @param {SessionSettings} settings @returns {Promise<number>} ms until all were reported */
async function connect ({ system, events, clients }, { connections, documents, alone }) {
  const options = {
    kind: /** @type {const} */ ('websocket'), target: system.target, secret: SECRET, concurrency: 128, timeoutMs: 20_000
  }
  const groups = [
    { first: 0, count: connections, documents }, { first: ALONE, count: alone, documents: 2 * ALONE }
  ]
  for (const group of groups) {
    const { failures } = await clients.open({ ...options, ...group }, () => {})
    if (Object.keys(failures).length > 0) throw new Error(`connections failed: ${JSON.stringify(failures)}`)
  }
  const total = connections + alone
  const connected = Date.now()
  await until(() => count(events, 'online') >= total && count(events, 'joined') >= total, 'all online events')
  return Date.now() - connected
}

/**
 * @param {Scene} scene
 * @param {typeof KINDS[number]} kind
 * @param {SessionSettings} settings
 * @param {(() => unknown)[]} closers
 * @returns {Promise<{ begin: number, left: string[], gone: string[] }>} begin: ms since 1970; users that remain, and
 *   those of the killed worker
 */
async function killWorker ({ system, redis, clients }, kind, { connections, alone }, closers) {
  const usersOf = await Promise.all(
    Object.entries(await redis.client.hgetall(WORKERS.incarnations)).map(([number, incarnation]) =>
      redis.client.hkeys(workerUsers(`${number}.${incarnation}`))
    )
  )
  const [launcher] = system.processes
  const worker = system.processes.find(({ role }) => role === 'gateway')
  if (worker === undefined) throw new Error('there is no gateway worker')
  if (kind === 'not replaced') {
    process.kill(launcher.pid, 'SIGSTOP')
    closers.push(() => process.kill(launcher.pid, 'SIGCONT'))
  }
  process.kill(worker.pid, 'SIGKILL')
  const begin = Date.now()
  const { open } = await untilSome(async () => {
    const status = await clients.status()
    return status.open < connections + alone ? status : undefined
  })
  const left = usersOf.find((users) => users.length === open)
  if (left === undefined)
    throw new Error(`${open} connections remain, workers have ${usersOf.map((users) => users.length)} users`)
  return { begin, left, gone: usersOf.filter((users) => users !== left).flat() }
}

/** @param {{ left: string[], gone: string[] }} users @param {number} documents */
function expectedOf ({ left, gone }, documents) {
  const document = (/** @type {string} */ uid) => {
    const number = Number(uid.slice(5))
    return guidOf(number < ALONE ? number % documents : number)
  }
  /** @type {Map<string, number>} */
  const membersLeft = new Map()
  for (const uid of left) membersLeft.set(document(uid), (membersLeft.get(document(uid)) ?? 0) + 1)
  const guids = new Set([...left, ...gone].map(document))
  const expected = [
    ...gone.flatMap((uid) => [`offline ${uid}`, `left ${uid} ${document(uid)}`]),
    ...[...guids].filter((guid) => !membersLeft.has(guid)).map((guid) => `vacated ${guid}`)
  ]
  return { guids, membersLeft, expected }
}

/**
 * Until all expected events have come, and duplicates had time to come.
 * @param {Scene} scene
 * @param {{ from: number, begin: number, gone: string[], expected: string[] }} kill from: number of its first event
 */
async function watch ({ redis, events }, { from, begin, gone, expected }) {
  const store = createRedisSessions({ redis })
  await until(
    async () => (await store.sessions(gone[0])).length === 0,
    'readers to find no connection of the killed worker'
  )
  const goneMs = Date.now() - begin
  await until(() => count(events.slice(from), 'offline') > 0, 'the first offline event')
  const firstMs = (events.slice(from).find(({ what }) => what.startsWith('offline'))?.at ?? 0) - begin
  await until(
    () => new Set(events.slice(from).map(({ what }) => what)).size >= expected.length,
    'all expected events'
  )
  const lastMs = (events.at(-1)?.at ?? 0) - begin
  await delay(LATE)
  return { goneMs, firstMs, lastMs }
}

/** @typedef {{ what: string, at: number }} Told at: time of receipt, ms since 1970 */

/**
 * @param {string} brokers
 * @returns {Promise<{ events: Told[], stop: () => Promise<void> }>} life-cycle events, added as they arrive
 */
async function collect (brokers) {
  const kafka = new kafkajs.Kafka({
    clientId: 'bench',
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING
  })
  const consumer = kafka.consumer({ groupId: 'bench' })
  /** @type {Told[]} */
  const events = []
  await consumer.connect()
  await consumer.subscribe({ topic: 'documents.uplink', fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message: { headers = {} } }) => {
      const what = ['x-operator', 'x-uid', 'x-guid']
        .flatMap((name) => (headers[name] === undefined ? [] : String(headers[name])))
        .join(' ')
      events.push({ what, at: Date.now() })
    }
  })
  return { events, stop: () => consumer.disconnect() }
}

/** @param {Told[]} events @param {string} operator */
const count = (events, operator) => events.reduce((sum, { what }) => what.startsWith(operator) ? sum + 1 : sum, 0)

/** @param {() => unknown} condition @param {string} what */
async function until (condition, what) {
  const end = Date.now() + TIMEOUT
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`waited ${TIMEOUT} ms for ${what}`)
    await delay(20)
  }
}

/** Waits for a stable value. @template T @param {() => Promise<T | undefined>} look @returns {Promise<T>} */
async function untilSome (look) {
  /** @type {T | undefined} */
  let found
  await until(async () => {
    const next = await look()
    const same = found !== undefined && JSON.stringify(next) === JSON.stringify(found)
    found = next
    if (!same) await delay(100)
    return same
  }, 'connections of the killed worker to end')
  return /** @type {T} */ (found)
}
