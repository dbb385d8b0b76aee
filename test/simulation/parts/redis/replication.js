import { keysOf } from './keys-of.js'

/**
 * @typedef {import('./server.js').RedisServer} RedisServer
 * @typedef {import('../../../../src/redis/store/contract.js').Connection} Connection
 *
 * WAIT, until a replica has what was written before it.
 * @typedef {{ writes: number, answer: (replicas: number) => void }} Wait
 */

/**
 * From a master to its replica: values of keys, not commands, so that scripts with times and random values are exact.
 * After a lag the replica gets all that was written until then, so it always has what the master had at a moment.
 */
export class Replication {
  /** Keys that the replica does not have yet. @type {Set<string>} */
  #changed = new Set()
  /** Whether the replica has to begin with nothing. */
  #isFull = true
  #isUnderway = false
  #writes = 0
  #has = -1
  /** @type {Wait[]} */
  #waits = []
  #isOver = false

  /**
   * @param {RedisServer} from
   * @param {RedisServer} to
   * @param {() => number} lag draws it, ms
   */
  constructor (from, to, lag) {
    this.from = from
    this.to = to
    this.lag = lag
    this.world = from.world
    for (const key of from.store.keyspace.keys()) this.#changed.add(key)
    this.#send()
  }

  /** Whether the replica has once had all that the master had. */
  get isSynced () { return this.#has >= 0 }

  /** @param {string[]} args of a command that writes */
  wrote (args) {
    for (const key of keysOf(args)) this.#changed.add(key)
    this.#writes++
    this.#send()
  }

  /** The master has no key any more. */
  cleared () {
    this.#changed.clear()
    this.#isFull = true
    this.#writes++
    this.#send()
  }

  #send () {
    if (this.#isUnderway || this.#isOver) return
    this.#isUnderway = true
    this.world.schedule(this.lag(), 'replication', () => this.#arrive(), null)
  }

  #arrive () {
    this.#isUnderway = false
    const { from, to, world } = this
    if (this.#isOver || !from.isAlive) return
    if (!to.isAlive || to.process.isPaused || from.process.isPaused ||
      world.network.blockedUntil(from.process, to.process) > world.time) return this.#send()
    const [source, target] = [from.store.keyspace, to.store.keyspace]
    if (this.#isFull) target.clear()
    for (const key of this.#changed) {
      const entry = source.entry(key)
      target.delete(key)
      if (entry === undefined) continue
      const copy = new /** @type {any} */ (entry.value.constructor)()
      copy.fill(entry.value.content)
      target.put(key, copy, entry.expiresAt)
    }
    to.store.replicationId = from.store.replicationId
    this.#changed.clear()
    this.#isFull = false
    this.#has = this.#writes
    const done = this.#waits.filter(({ writes }) => writes <= this.#has)
    this.#waits = this.#waits.filter(({ writes }) => writes > this.#has)
    for (const { answer } of done) from.process.enter('WAIT', () => answer(1), this.lag())
  }

  /**
   * WAIT 1 ms
   * @param {Connection} connection
   * @param {number} ms
   * @returns {number | void} of replicas, if the connection does not have to wait
   */
  wait (connection, ms) {
    if (this.#writes <= this.#has && !this.#isOver) return 1
    const done = hold(connection, this.from)
    /** @type {Wait} */
    const wait = {
      writes: this.#writes,
      answer: (replicas) => {
        late.stop()
        this.#waits = this.#waits.filter((one) => one !== wait)
        done(replicas)
      }
    }
    const late = this.from.process.clock.timer(ms, () => wait.answer(0))
    this.#waits.push(wait)
  }

  /** The replica does not follow this master any more. */
  end () { this.#isOver = true }
}

/**
 * A connection carries out nothing until its command has a reply.
 * @param {Connection} connection
 * @param {RedisServer} server
 * @returns {(reply: number) => void}
 */
export function hold (connection, { store }) {
  connection.store = /** @type {any} */ ({
    isPaused: true,
    clock: store.clock,
    flush: () => store.flush(),
    willFlush: (/** @type {Connection} */ one) => store.willFlush(one),
    forget: (/** @type {Connection} */ one) => store.forget(one)
  })
  return (reply) => {
    if (connection.store === store) return
    connection.store = store
    connection.reply(reply)
    connection.work()
    store.flush()
  }
}
