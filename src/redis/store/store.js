import { createServer } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import { OUT_OF_MEMORY, run, takes, wrongArity } from './commands/command.js'
import { findCommand, unknownCommand } from './commands/table.js'
import { Connection } from './connection.js'
import { Keyspace } from './keyspace.js'
import { PubSub } from './pubsub.js'
import { ErrorReply } from './resp/replies.js'
import { Scripts } from './scripts.js'
import { streamPair } from './stream-pair.js'

/**
 * @typedef {import('./resp/replies.js').Reply} Reply
 * @typedef {import('./contract.js').Context} Context
 *
 * @typedef {object} Snapshot
 * @property {import('./keyspace.js').KeyspaceSnapshot} keyspace
 * @property {string} runId
 * @property {string} replicationId
 */

/** Share of the heap that keys may take. */
const HEAP_SHARE = 0.5
const MAX_CLIENTS = 10_000
/** Between two sweeps of expired keys, ms. */
const SWEEP_EVERY = 500
const SUBSCRIBED_ONLY = 'only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context'

/**
 * The part of Redis 7.0 that inkcast and its libraries use, in the memory of this process. Why there is one, and what
 * it is not: docs/internals/decisions/0162-built-in-store.md
 *
 * @param {object} dependencies
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export const createStore = ({ clock, random }) => new Store(clock, random)

/** Exported for tests: its type. */
export class Store {
  keyspace = new Keyspace()
  pubsub = new PubSub()
  scripts = new Scripts()
  /** @type {Set<import('./contract.js').Connection>} */
  connections = new Set()
  #opened = 0
  config = { maxmemory: Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE), maxclients: MAX_CLIENTS }
  /** @type {Set<import('node:net').Server>} */
  #servers = new Set()
  /** Connections that have output to write. @type {import('./contract.js').Connection[]} */
  #unflushed = []
  /** CLIENT PAUSE. @type {import('../../base/common/clock.js').Timer | undefined} */
  #pause

  /**
   * @param {import('../../base/common/clock.js').Clock} clock
   * @param {import('../../base/common/random.js').Random} random
   */
  constructor (clock, random) {
    this.clock = clock
    this.random = random
    /** Ids of this start: a client that sees others knows that data may be lost. */
    this.runId = random.bytes(20).toString('hex')
    this.replicationId = random.bytes(20).toString('hex')
    this.sweep = clock.every(SWEEP_EVERY, () => {
      this.keyspace.now = Math.floor(clock.now())
      this.keyspace.sweep()
    }).unref()
  }

  /** @returns {import('node:stream').Duplex} the client's end of a new connection */
  connect () {
    const [client, stream] = streamPair()
    this.#accept(stream)
    return client
  }

  /**
   * @param {string | number | import('node:net').ListenOptions} at a path, a port of this machine, or Node's options
   * @returns {Promise<import('node:net').Server>} listening
   */
  listen (at) {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    this.#servers.add(server)
    server.on('close', () => this.#servers.delete(server))
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(typeof at === 'number' ? { port: at, host: '127.0.0.1' } : typeof at === 'string' ? { path: at } : at,
        () => resolve(server))
    })
  }

  /** @param {import('node:stream').Duplex} stream */
  #accept (stream) {
    if (this.connections.size >= this.config.maxclients) {
      stream.on('error', () => {})
      stream.end('-ERR max number of clients reached\r\n', () => stream.destroy())
      return
    }
    this.connections.add(new Connection(this, stream, ++this.#opened))
  }

  /** @param {import('./contract.js').Connection} connection that has ended */
  forget (connection) {
    this.connections.delete(connection)
    this.pubsub.forget(connection)
  }

  /**
   * @param {string[]} args of a request
   * @param {import('./contract.js').Connection} connection
   * @returns {Reply | void} nothing if the command has written its reply
   */
  execute (args, connection) {
    const now = this.clock.now()
    this.keyspace.now = Math.floor(now)
    const found = findCommand(args)
    if (found === undefined) return unknownCommand(args)
    const { name, command } = found
    if (!takes(command, args.length)) return wrongArity(name)
    if (command.grows && this.isFull) return new ErrorReply(OUT_OF_MEMORY)
    if (connection.resp === 2 && !command.subscribed && connection.isSubscriber)
      return new ErrorReply(`ERR Can't execute '${name}': ${SUBSCRIBED_ONLY}`)
    return run(command, { store: this, keyspace: this.keyspace, resp: connection.resp, now, connection }, args)
  }

  find = findCommand

  get isFull () { return this.config.maxmemory > 0 && this.keyspace.bytes > this.config.maxmemory }

  /** @param {import('./contract.js').Connection} connection */
  willFlush (connection) { this.#unflushed.push(connection) }

  flush () {
    if (this.#unflushed.length === 0) return
    const some = this.#unflushed
    this.#unflushed = []
    for (const connection of some) connection.flush()
  }

  get isPaused () { return this.#pause !== undefined }

  /** @param {number} ms for which no command is carried out */
  pause (ms) {
    this.#pause?.stop()
    this.#pause = this.clock.timer(ms, () => this.resume())
  }

  resume () {
    if (this.#pause === undefined) return
    this.#pause.stop()
    this.#pause = undefined
    for (const connection of [...this.connections]) connection.work()
  }

  /** @returns {Snapshot} of the data; it may be copied */
  snapshot () {
    return { keyspace: this.keyspace.snapshot(), runId: this.runId, replicationId: this.replicationId }
  }

  /** @param {Snapshot} snapshot */
  restore ({ keyspace, runId, replicationId }) {
    this.keyspace.restore(keyspace)
    this.runId = runId
    this.replicationId = replicationId
  }

  /** As a Redis without persistence that is killed and started again: no data, other ids, no connections. */
  restart () {
    for (const connection of [...this.connections]) connection.destroy()
    this.keyspace.clear()
    this.scripts.clear()
    this.#pause?.stop()
    this.#pause = undefined
    this.runId = this.random.bytes(20).toString('hex')
    this.replicationId = this.random.bytes(20).toString('hex')
  }

  close () {
    this.sweep.stop()
    this.#pause?.stop()
    for (const server of this.#servers) server.close()
    for (const connection of [...this.connections]) connection.destroy()
  }
}
