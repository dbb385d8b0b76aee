import { createRequire } from 'node:module'
import { Backoff } from '../base/common/backoff.js'
import { addressesOf, parseSentinelUrl, socketPathOf } from '../config/redis-url.js'
import { LogLimit } from '../base/common/log-limit.js'
import { createRedisClientMetrics } from '../observe/metrics/redis-client.js'
import { AnswerLimit } from './answer-limit.js'
import { PATIENCE } from './channel-entry.js'
import { Channels } from './channels.js'
import { createElsewhere } from './identity/moved-address.js'
import { identityIn, identityOf } from './identity/identity.js'
import { createSlotMoves } from './identity/moved-slots.js'
import { isRefusal, withoutArguments } from './errors.js'
import { inProcess } from './in-process.js'
import { createKeys } from './keys.js'
import { ANSWER_TIMEOUT, RECONNECT, clusterOptions, commandOptions } from './options.js'
import { causeOfSentinels, sentinelOptions } from './sentinel/options.js'
import { createSentinelWatch } from './sentinel/watch.js'
import { createMarkers } from './markers.js'
import { createRefusals } from './refusals.js'
import { defineScripts, scriptNames } from './scripts.js'
import { checkServer } from './server-check.js'
import { createAdapterPublisher, createAdapterSubscriber } from './adapter/adapter-clients.js'
import { createPatternSubscriber } from './adapter/pattern-subscriber.js'
import { hashSlot } from './hash-slot.js'
import { clusterTopology, singleTopology } from './topology.js'

const require = createRequire(import.meta.url)
const { Cluster, Redis } = require('ioredis')

/**
 * @typedef {Redis | Cluster} Client
 * @typedef {ReturnType<typeof createRedis>} RedisConnection
 */

/** Time after which a Redis that accepts connections but does not respond is reported, ms. */
const SILENCE = 5000

/** @param {Error & { code?: string }} error an AggregateError of several addresses has a code and no message */
const causeOf = ({ message, code }) => message || code || 'no connection'

/**
 * The connections of one process to Redis: one for commands (one per node with Redis Cluster), one for sharded
 * pub/sub (one per node that has channels). For the behavior while Redis is unavailable see connectionOptions.
 *
 * Nothing connects before `start`.
 *
 * @param {object} settings
 * @param {string[]} settings.urls one `redis://`, `rediss://` or `unix://` URL, several for Redis Cluster, or one of Sentinel
 *   (redis-url.js)
 * @param {string} [settings.prefix] of all keys and channels, REDIS_PREFIX
 * @param {() => import('node:stream').Duplex} [settings.connect] opens a connection to the built-in store of this
 *   process, in place of `urls`
 * @param {string} settings.name of this process, for CLIENT LIST
 * @param {number} [settings.answerTimeout] ms; tests on a busy machine wait longer than ANSWER_TIMEOUT
 * @param {import('../base/common/log.js').Log} settings.log
 * @param {import('../observe/metrics/redis-client.js').RedisMetrics} [settings.metrics]
 * @param {(message: string) => void} [settings.onWaits] called with the reason why `start` waits
 * @param {import('../base/common/clock.js').Clock} settings.clock
 * @param {import('../base/common/random.js').Random} settings.random
 */
// eslint-disable-next-line max-lines-per-function -- the life of one client, whose parts are files of their own
export function createRedis ({ name, log, metrics, onWaits = () => {}, clock, random, ...server }) {
  const { urls, connect, prefix, answerTimeout = ANSWER_TIMEOUT } = server
  if (urls.length === 0 && connect === undefined)
    throw new Error('REDIS_URL: set it; only "npm start" has a store of its own, for development')
  const backoff = new Backoff({ ...RECONNECT, random })
  /** @type {(() => void)[]} */
  const backListeners = []
  const tellBack = () => { for (const listener of backListeners) listener() }
  const sentinel = connect === undefined ? parseSentinelUrl(urls[0]) : undefined
  const own = { ...commandOptions(name, answerTimeout), retryStrategy: () => backoff.next() }
  const client = connect !== undefined
    ? new Redis({ ...own, ...inProcess(connect) })
    : sentinel !== undefined
      ? new Redis({ ...own, ...sentinelOptions(sentinel, random) })
      : urls.length === 1
        ? new Redis(socketPathOf(urls[0]) ?? urls[0], own)
        : new Cluster(urls, clusterOptions(name, urls, own.retryStrategy, answerTimeout))
  const watch = sentinel && createSentinelWatch({
    url: sentinel, name, onSwitch: () => elsewhere?.lookForAWhile(), clock, random
  })
  const sentinelCause = sentinel === undefined || client instanceof Cluster
    ? () => undefined
    : causeOfSentinels(client, sentinel.name)
  const refusals = createRefusals({ log, clock })
  const elsewhere = client instanceof Cluster ? undefined : createElsewhere({ client, log, clock, random })
  const counted = metrics && createRedisClientMetrics({ metrics, scripts: scriptNames(), clock })
  // a cluster's commands are counted where they are sent, their errors where they end
  const pending = catchRejections(client, (error) => {
    counted?.failed(error)
    refusals.note(error)
    elsewhere?.note(error)
  }, client instanceof Cluster ? {} : { onSent: counted?.sent, limit: new AnswerLimit(client, clock, answerTimeout) })
  if (client instanceof Cluster) {
    refuseWhenDown(client)
    const known = new Set()
    /** Nodes that were not reached since the listeners heard of them. */
    const tried = new Set()
    client.on('+node', (node) => {
      const key = keyOf(node)
      // ioredis adds a node that is gone once more for each command that another one redirects to it. Listeners send
      // commands: they would add the next one
      const again = tried.has(key)
      const limit = new AnswerLimit(node, clock, answerTimeout)
      catchRejections(node, refusals.note, { onSent: counted?.sent, limit })
      node.on('ready', () => {
        if (known.has(key)) counted?.reconnected('commands')
        known.add(key)
        tried.delete(key)
        if (again) tellBack()
      })
      moves?.forget(key)
      if (again) return
      tried.add(key)
      tellBack()
    })
  }
  const scripts = defineScripts(client)
  const keys = createKeys(prefix)
  const markers = client instanceof Cluster ? createMarkers({ client, scripts, keys }) : undefined
  const topology = client instanceof Cluster ? clusterTopology(client, clock) : singleTopology(client)
  const moves = client instanceof Cluster ? slotMoves(client, topology) : undefined
  const channels = new Channels({
    topology, name, onRejected: refusals.note, onReconnected: () => counted?.reconnected('subscriber'), log,
    patience: { ...PATIENCE, answer: answerTimeout }, clock, random
  })
  counted?.onCollect(() => ({ pending: pending(), commands: readyOf(client), subscriber: channels.connected }))

  /** @type {number | undefined} */
  let downSince
  const logLimit = new LogLimit({ clock })
  let stopped = false
  /** Ends the wait of `start`: ioredis emits no event for a disconnect between two attempts. */
  let abandon = () => {}

  let wasReady = false
  client.on('ready', () => {
    backoff.reset()
    if (wasReady && !(client instanceof Cluster)) counted?.reconnected('commands')
    wasReady = true
    if (downSince !== undefined)
      log.info({ afterMs: Math.round(clock.monotonic() - downSince) }, 'redis is available again')
    downSince = undefined
    logLimit.reset()
    tellBack()
    // the address may be from before a failover: a master that hung while it was connected to, and comes back
    if (sentinel !== undefined) elsewhere?.lookForAWhile()
    // after a failure the next reconnect retries
    if (!(client instanceof Cluster)) identityOf(client).then((identity) => channels.follow(identity), () => {})
  })
  const onTrouble = (/** @type {Error & { lastNodeError?: Error }} */ error) => {
    if (stopped) return
    downSince ??= clock.monotonic()
    if (!logLimit.due()) return
    const cause = sentinelCause() ?? causeOf(error.lastNodeError ?? error)
    log.warn({ address: addressesOf(urls), cause }, 'redis is unavailable, retrying')
  }
  client.on('error', onTrouble)
  // it has no cause: the attempt to connect again that follows has one
  client.on('close', () => { if (!stopped) downSince ??= clock.monotonic() })
  client.on('node error', (error) => { if (client.status !== 'ready') onTrouble(error) })

  /** Resolves once connected, without a timeout; rejects if Redis refuses the connection. */
  function connected () {
    if (client.status === 'ready') return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waits = (/** @type {string} */ cause) =>
        onWaits(`Redis cannot be used at ${addressesOf(urls)} (REDIS_URL): ${cause}; trying again`)
      const silent = clock.timer(SILENCE, () => waits(`it is not ready after ${SILENCE / 1000} s`))
      const settle = (/** @type {Error | undefined} */ error) => {
        silent.stop()
        client.off('ready', onReady).off('error', onError)
        abandon = () => {}
        if (error === undefined) resolve(undefined)
        else reject(error)
      }
      const onReady = () => settle(undefined)
      const onError = (/** @type {Error & { lastNodeError?: Error }} */ error) => {
        const problem = error.lastNodeError ?? error
        if (problem.message.includes('cluster support disabled'))
          settle(new Error('redis: several URLs stand for Redis Cluster, but this is a single Redis: give one URL'))
        else if (isRefusal(problem))
          settle(new Error(`redis: ${problem.message}`, { cause: withoutArguments(problem) }))
        else waits(sentinelCause() ?? causeOf(problem))
      }
      abandon = () => settle(new Error('redis: stopped while connecting'))
      client.on('ready', onReady).on('error', onError)
      client.connect().catch(() => {}) // the events report it as well
    })
  }

  return {
    client,
    isCluster: client instanceof Cluster,
    /** Whether it is the store of this process, which ends with the process. */
    isInProcess: connect !== undefined,
    scripts,
    keys,
    channels,
    topology,

    /**
     * Calls a script that may ask whether a hash slot has moved.
     * @template T
     * @param {string} key in this hash slot
     * @param {(move: string) => Promise<T>} call the script, with `move` as goesOn in include/generation.lua wants it
     */
    afterMove: (key, call) => moves === undefined ? call('') : moves.answer(hashSlot(key), call),

    /**
     * Counts the commands of another connection to it, and notes their errors.
     * @param {Redis} connection
     */
    track (connection) {
      catchRejections(connection, (error) => {
        counted?.failed(error)
        refusals.note(error)
        elsewhere?.note(error)
        if (error instanceof Error && error.message.startsWith('MOVED ')) topology.refresh()
      }, { onSent: counted?.sent })
    },

    /** Whether Redis is connected. */
    get ready () { return client.status === 'ready' },

    /** The reason why commands fail or are refused; null: they work. For the readiness check. */
    get trouble () { return refusals.reason ?? (this.ready ? null : 'Redis is unavailable') },

    /**
     * @param {() => void} listener called when Redis, or a node of the cluster, becomes available, also for the first
     *   time, or has lost its data (`lost`)
     */
    onBack (listener) { backListeners.push(listener) },

    /**
     * To be called when Redis has lost data without losing its connections: the data has to be written again. Calls the
     * listeners of `onBack`.
     */
    lost: tellBack,

    /**
     * Checks whether a node of Redis Cluster has lost its data since the last check. With a single Redis any missing
     * key shows that.
     * @param {import('./markers.js').Worker} worker
     * @param {boolean} isWhole whether all its users are registered (markers.js)
     * @returns {Promise<boolean>} never rejects
     */
    hasLost: async (worker, isWhole) => await markers?.look(worker, isWhole) ?? false,

    /**
     * @param {string} key of a user
     * @param {import('./markers.js').Worker[]} workers
     * @returns {Promise<boolean>} whether the node of this key has the registrations of all workers; true with a single
     *   Redis
     */
    areRegistered: async (key, workers) => await markers?.areWhole(key, workers) ?? true,

    /**
     * The two clients for `@socket.io/redis-adapter`. They use the connections of `client` and `channels`, so
     * subscriptions follow hash slots and survive reconnects.
     */
    adapterClients: () => ({
      publisher: createAdapterPublisher(client),
      subscriber: createAdapterSubscriber(channels)
    }),

    /**
     * Classic pub/sub, over a separate connection.
     * @param {readonly string[]} prefixes of the channels
     * @param {(channel: string, payload: Buffer) => void} onMessage
     */
    subscribePatterns (prefixes, onMessage) {
      return createPatternSubscriber({
        client, name, prefixes, onMessage, onRejected: refusals.note, onReconnected: () => counted?.reconnected('rooms'),
        clock, random
      })
    },

    /**
     * Connects; waits for Redis without a timeout.
     * @throws {Error} with the fix in its message: Redis refuses the credentials, is older than 7, or the number of
     *   URLs does not fit (one for a single Redis, several for a cluster)
     */
    async start () {
      try {
        await connected()
        await checkServer(client, log)
        watch?.start()
      } catch (error) {
        await this.stop()
        throw error
      }
    },

    async stop () {
      stopped = true
      abandon()
      channels.stop()
      topology.stop()
      watch?.stop()
      elsewhere?.stop()
      client.disconnect()
    }
  }
}

/**
 * ioredis sends some commands itself (SELECT, ASKING) without handling their rejections; one that fails with its
 * connection would end the process. Callers that await a command still get its error.
 * @param {Client} redis
 * @param {(error: unknown) => void} onRejected called for each
 * @param {object} [more]
 * @param {(command: any) => void} [more.onSent] called with each command
 * @param {AnswerLimit} [more.limit]
 * @returns {() => number} commands that are not answered yet
 */
function catchRejections (redis, onRejected, { onSent = () => {}, limit } = {}) {
  const send = /** @type {Function} */ (redis.sendCommand)
  let pending = 0
  const answered = () => {
    pending--
    limit?.settled()
  }
  const rejected = (/** @type {unknown} */ error) => {
    pending--
    limit?.settled()
    onRejected(error)
  }
  redis.sendCommand = (/** @type {unknown[]} */ ...args) => {
    onSent(args[0])
    const sent = send.apply(redis, args)
    if (sent === undefined) return
    pending++
    limit?.sent()
    sent.then(answered, rejected)
    return sent
  }
  return () => pending
}

/** @param {Client} client @returns {number} its connections for commands */
const readyOf = (client) =>
  (client instanceof Cluster ? client.nodes('all') : [client]).filter(({ status }) => status === 'ready').length

/** @param {Redis} node */
const keyOf = ({ options: { host, port } }) => `${host}:${port}`

/**
 * @param {Cluster} cluster
 * @param {import('./topology.js').Topology} topology
 */
function slotMoves (cluster, topology) {
  const moves = createSlotMoves({
    owners: () => cluster.slots.map((keys) => keys?.[0]),
    refresh: () => cluster.refreshSlotsCache(),
    ask: async (nodeKey) => {
      const info = await cluster.nodes('master').find((node) => keyOf(node) === nodeKey)?.info('replication')
      return info && identityIn(info).generation
    }
  })
  topology.onChange(() => { moves.look() })
  return moves
}

/**
 * Without it a Cluster without any node would queue commands without a bound, and execute them when it reconnects.
 * @param {Cluster} cluster
 */
function refuseWhenDown (cluster) {
  const send = cluster.sendCommand
  cluster.sendCommand = (command, stream, node) => {
    // CLUSTER INFO and CLUSTER SLOTS make it ready
    if (cluster.status !== 'ready' && cluster.status !== 'wait' && command.name !== 'cluster') {
      command.reject(new Error('redis cluster: not connected'))
      return command.promise
    }
    return send.call(cluster, command, stream, node)
  }
}
