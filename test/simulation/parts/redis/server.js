import { Keyspace } from '../../../../src/redis/store/keyspace.js'
import { compile } from '../../../../src/redis/store/lua/compile.js'
import { ErrorReply, Verbatim } from '../../../../src/redis/store/resp/replies.js'
import { Scripts } from '../../../../src/redis/store/scripts.js'
import { Store, createStore } from '../../../../src/redis/store/store.js'

/**
 * @typedef {import('../../world/world.js').World} World
 * @typedef {import('../../../../src/redis/store/store.js').Snapshot} Snapshot
 * @typedef {import('../../../../src/redis/store/contract.js').Connection} Connection
 * @typedef {import('../../../../src/redis/store/contract.js').Reply} Reply
 *
 * The deployment of a server, as far as it adds to the store.
 * @typedef {object} Part
 * @property {(args: string[], connection?: Connection) => string | undefined} refuses message of the error that a
 *   command gets; without a connection: within a script
 * @property {Record<string, (args: string[], connection: Connection) => Reply | void>} commands by name in lower case
 * @property {() => Record<string, string>} info fields of INFO that are other ones than the store's
 * @property {() => void} [onStart] called when its store is there
 * @property {(args: string[]) => void} [onWrite] called before each command that writes, also within scripts
 * @property {() => void} [onClear] called when all keys go
 */

export const PORT = 6379
const LOADING = 'LOADING Redis is loading the dataset in memory'
/** Commands that Redis serves meanwhile, of those that inkcast uses. */
const WHILE_LOADING = new Set(['hello', 'auth', 'client', 'info', 'subscribe', 'unsubscribe', 'quit'])

/**
 * Compiled scripts of all worlds, by their source: they have no state, and V8 has to optimize each of them once only.
 * @type {Map<string, import('../../../../src/redis/store/scripts.js').Script>}
 */
const compiled = new Map()

/** @param {string} source */
function compileOnce (source) {
  const before = compiled.get(source)
  if (before !== undefined) return before
  const script = compile(source)
  compiled.set(source, script)
  return script
}

/** A Redis on a machine of its own: the built-in store, as a process that ends and starts again. */
export class RedisServer {
  /** @type {import('../../world/sim-process.js').SimProcess} */
  process = /** @type {any} */ (undefined)
  /** Of this start. @type {Store} */
  store = /** @type {any} */ (undefined)
  /** When it was started, and when it ended, ms. */
  startedAt = 0
  endedAt = 0
  #loadsUntil = 0
  /** While it has none left: what it had. @type {{ config: Store['config'], maxmemory: number } | undefined} */
  #memory

  /**
   * @param {World} world
   * @param {string} name of its machine, where clients connect to
   * @param {Part} [part]
   * @param {number} [port]
   */
  constructor (world, name, part, port = PORT) {
    this.world = world
    this.name = name
    this.part = part
    this.port = port
    /** @type {import('../../world/sim-process.js').Machine} */
    this.machine = { name, step: 0 }
    /** When it has lost something that it had accepted, virtual ms. @type {number[]} */
    this.losses = []
    /** Each step of its wall clock, and how far the clock is from the true time after it. */
    this.steps = [{ at: -Infinity, offset: 0 }]
  }

  get isAlive () { return this.process.isAlive }
  get address () { return `${this.name}:${this.port}` }

  /** @param {Snapshot} [data] of the disk; default: none @param {number} [loads] time until it serves it, ms */
  start (data, loads = 0) {
    const process = this.process = this.world.process(this.name, this.machine)
    this.startedAt = this.world.time
    process.enter('start', () => {
      const { clock, random } = process
      const store = this.store = createStore({ clock, random })
      store.scripts = new Scripts(compileOnce)
      const { runId, replicationId } = store
      // as a real one: each start has ids of its own, also with the data of before
      if (data !== undefined) store.restore({ ...data, runId, replicationId })
      if (this.part !== undefined) this.#extend(store, this.part)
      if (loads > 0) this.#load(store, loads)
      this.part?.onStart?.()
      store.listen({ host: '0.0.0.0', port: this.port })
    })
  }

  /** Commands that take memory are refused. @param {number} ms */
  fill (ms) {
    const { store: { config } } = this
    if (this.#memory !== undefined) return
    const memory = this.#memory = { config, maxmemory: config.maxmemory }
    config.maxmemory = 1
    this.world.schedule(ms, 'memory', () => { if (this.#memory === memory) this.empty() }, null)
  }

  /** Publications reach no subscriber until `empty`, and their publishers do not notice it. */
  loseMessages () {
    const { pubsub } = this.store
    pubsub.publish = (channel) => pubsub.count('channels', channel)
    pubsub.publishShard = (channel) => pubsub.count('shards', channel)
  }

  /** It has memory again, and its data, and passes messages on. */
  empty () {
    passOn(this.store.pubsub)
    this.#loadsUntil = 0
    if (this.#memory !== undefined) this.#memory.config.maxmemory = this.#memory.maxmemory
    this.#memory = undefined
  }

  /** Something that it had accepted is lost. */
  lost () { this.losses.push(this.world.time) }

  /** @param {number} ms by which its wall clock is set */
  setClock (ms) {
    this.machine.step += ms
    this.steps.push({ at: this.world.time, offset: this.machine.step })
  }

  /** It answers as a Redis that reads its data from the disk. @param {Store} store @param {number} ms */
  #load (store, ms) {
    const { execute } = store
    const until = this.#loadsUntil = this.world.time + ms
    store.execute = (args, connection) => {
      if (this.world.time >= until || this.#loadsUntil !== until) return execute.call(store, args, connection)
      const name = args[0].toLowerCase()
      if (!WHILE_LOADING.has(name)) return new ErrorReply(LOADING)
      const reply = execute.call(store, args, connection)
      if (name !== 'info' || !(reply instanceof Verbatim)) return reply
      return new Verbatim(reply.text.replace(/^loading:0/m, 'loading:1'))
    }
  }

  /** @param {Store} store @param {Part} part */
  #extend (store, { refuses, commands, info, onWrite = () => {}, onClear = () => {} }) {
    const { find, keyspace } = store
    const note = (/** @type {string[]} */ args) => {
      const command = find(args)?.command
      if (command?.grows || command?.writes) onWrite(args)
    }
    store.execute = (args, connection) => {
      const refusal = refuses(args, connection)
      if (refusal !== undefined) return new ErrorReply(refusal)
      const name = args[0].toLowerCase()
      if (commands[name] !== undefined) return commands[name](args, connection)
      note(args)
      const reply = Store.prototype.execute.call(store, args, connection)
      if (name !== 'info' || !(reply instanceof Verbatim)) return reply
      const fields = info()
      const field = (/** @type {string} */ line, /** @type {string} */ name) =>
        name in fields ? `${name}:${fields[name]}` : line
      return new Verbatim(reply.text.replace(/^(\w+):[^\r]*/gm, field))
    }
    // what scripts call
    store.find = (args) => {
      const found = find(args)
      const refusal = refuses(args)
      if (refusal === undefined) note(args)
      if (found === undefined || refusal === undefined) return found
      return { ...found, command: { ...found.command, grows: false, run: () => new ErrorReply(refusal) } }
    }
    // keys that expire
    keyspace.delete = (key) => {
      onWrite(['del', key])
      return Keyspace.prototype.delete.call(keyspace, key)
    }
    keyspace.clear = () => {
      onClear()
      Keyspace.prototype.clear.call(keyspace)
    }
  }

  /**
   * It is killed, and started again after a time.
   * @param {Snapshot | undefined} data that its disk has
   * @param {number} ms until it starts
   * @param {number} [loads] time until it serves its data, ms
   */
  restart (data, ms, loads) {
    this.process.end(null)
    this.endedAt = this.world.time
    this.world.schedule(ms, 'Redis starts', () => { if (!this.isAlive) this.start(data, loads) }, null)
  }
}

/** @param {Partial<import('../../../../src/redis/store/pubsub.js').PubSub>} pubsub whose messages pass again */
function passOn (pubsub) {
  delete pubsub.publish
  delete pubsub.publishShard
}
