import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { LogLimit } from '../base/common/log-limit.js'
import { PATIENCE, createEntry, group, push, wait } from './channel-entry.js'
import { createSameServer } from './identity/same-server.js'
import { connectionOptions } from './options.js'
import { SubscriberConnection } from './subscriber-connection.js'

/** @typedef {import('./channel-entry.js').ChannelEntry} ChannelEntry */

/**
 * Keeps sharded channels subscribed over lost connections, failovers and hash slots that move. It stores the wanted set
 * of channels and aligns the connections with it, instead of replaying commands. So the last call for a channel
 * decides, and while Redis is unavailable the only state is the wanted set.
 *
 * (ioredis has this too, for Redis Cluster: `shardedSubscribers`. It gives up on a channel whose SSUBSCRIBE fails
 * during a failover, does not report resubscribed channels, and counts all channels with every subscribe.)
 */
export class Channels {
  /** Wanted channels, and those to unsubscribe with the next flush. @type {Map<string, ChannelEntry>} */
  #entries = new Map()
  /** By node. @type {Map<string, SubscriberConnection>} */
  #connections = new Map()
  /** Entries to align with their connection. @type {Set<ChannelEntry>} */
  #dirty = new Set()
  /** @type {((channels: string[]) => void)[]} */
  #restoredListeners = []
  /** Interrupted channels that are subscribed again, until the listeners are called. @type {string[]} */
  #restored = []
  /** Commands in progress. */
  #sending = 0
  /** @type {Pick<import('../base/common/clock.js').Timer, 'stop'> | undefined} */
  #flushing
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #retrying
  #stopped = false
  #sameServer
  #backoff
  #logLimit
  #parts

  /**
   * @param {object} parts
   * @param {import('./topology.js').Topology} parts.topology
   * @param {string} parts.name
   * @param {(error: Error) => void} [parts.onRejected] called with the error when channels cannot be subscribed
   * @param {() => void} [parts.onReconnected] called when a lost connection is established again
   * @param {import('../base/common/log.js').Log} parts.log
   * @param {{ answer: number, more: number }} [parts.patience] see PATIENCE
   * @param {import('../base/common/clock.js').Clock} parts.clock
   * @param {import('../base/common/random.js').Random} parts.random
   */
  constructor ({ patience = PATIENCE, ...parts }) {
    const { topology, clock, random } = parts
    this.#parts = { ...parts, patience }
    this.#backoff = new Backoff({ min: 100, max: 5000, random })
    this.#logLimit = new LogLimit({ clock })
    this.#sameServer = createSameServer(() => this.#connections.values(), { clock, random })
    topology.onChange(() => this.#follow())
  }

  /**
   * Subscribes until `unsubscribe`, even if the promise rejects. A set, not a count.
   *
   * @param {string} channel
   * @param {(payload: Buffer) => void} onMessage called for each message
   * @returns {Promise<void>} resolves when the server has confirmed, so messages arrive from now on
   * @throws {InkcastError} unavailable: not confirmed in time, or unsubscribed meanwhile
   */
  subscribe (channel, onMessage) {
    if (this.#stopped) return Promise.reject(new InkcastError('unavailable', 'stopped'))
    let entry = this.#entries.get(channel)
    if (entry === undefined) {
      entry = createEntry(channel, onMessage)
      this.#entries.set(channel, entry)
    }
    entry.onMessage = onMessage
    entry.wanted = true
    if (entry.live) return Promise.resolve()
    this.#mark(entry)
    return wait(entry, this.#parts.patience, this.#parts.clock)
  }

  /** @param {string} channel its messages are dropped from now on */
  unsubscribe (channel) {
    const entry = this.#entries.get(channel)
    if (entry === undefined) return
    entry.wanted = false
    for (const waiter of entry.waiters) waiter.reject(new InkcastError('unavailable', 'unsubscribed meanwhile'))
    this.#mark(entry)
  }

  /**
   * @param {(channels: string[]) => void} listener called with interrupted channels as soon as they are subscribed
   *   again
   */
  onRestored (listener) { this.#restoredListeners.push(listener) }

  /** @param {import('./identity/identity.js').Identity} identity of the server that receives commands from now on */
  follow (identity) { this.#sameServer.follow(identity) }

  /** How many connections are established. */
  get connected () { return [...this.#connections.values()].filter(({ ready }) => ready).length }

  stop () {
    this.#stopped = true
    this.#flushing?.stop()
    this.#retrying?.stop()
    this.#sameServer.stop()
    for (const entry of this.#entries.values()) {
      entry.wanted = false
      for (const waiter of entry.waiters) waiter.reject(new InkcastError('unavailable', 'stopped'))
    }
    this.#entries.clear()
    for (const connection of this.#connections.values()) connection.close()
    this.#connections.clear()
  }

  /** @type {import('./subscriber-connection.js').SubscriberEvents} */
  #events = {
    onServer: (connection) => this.#sameServer.known(connection),
    onReady: (connection, again) => {
      const { topology, onReconnected } = this.#parts
      if (again) onReconnected?.()
      for (const entry of this.#entries.values())
        if (entry.connection === null && topology.nodeOf(entry.slot) === connection.nodeKey) this.#mark(entry)
    },
    onClose: (connection) => {
      for (const entry of this.#entries.values()) if (entry.connection === connection) drop(entry)
      this.#parts.topology.refresh()
    },
    onMoved: (connection) => {
      const subscribed = connection.subscribed()
      for (const entry of this.#entries.values()) {
        if (entry.connection !== connection || !entry.live || subscribed.has(entry.channel)) continue
        drop(entry)
        this.#mark(entry)
      }
      this.#parts.topology.refresh()
    },
    onMessage: (connection, channel, payload) => {
      const entry = this.#entries.get(channel)
      // an old connection may still deliver: its messages must not follow those of the new one
      if (!entry?.wanted || entry.connection !== connection) return
      try {
        entry.onMessage(payload)
      } catch (error) {
        // rethrown, it would end the process
        this.#parts.log.error({ err: error }, 'the handler of a message from redis failed')
      }
    }
  }

  /** Nodes have come or gone, or hash slots have moved. */
  #follow () {
    const { topology } = this.#parts
    for (const [nodeKey, connection] of this.#connections) {
      if (topology.has(nodeKey)) continue
      this.#connections.delete(nodeKey)
      connection.close()
      for (const entry of this.#entries.values()) if (entry.connection === connection) drop(entry)
    }
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const left = new Map()
    for (const entry of this.#entries.values()) {
      const { connection } = entry
      if (connection !== null && connection.nodeKey === topology.nodeOf(entry.slot)) continue
      if (connection !== null) push(left, connection, entry)
      drop(entry)
      this.#mark(entry)
    }
    for (const [connection, moved] of left) this.#send(connection, [], moved)
  }

  /** @param {ChannelEntry} entry */
  #mark (entry) {
    this.#dirty.add(entry)
    if (this.#stopped || this.#flushing !== undefined) return
    this.#flushing = this.#parts.clock.soon(() => this.#flush())
  }

  /** Sends the changes of one turn of the event loop together. */
  #flush () {
    this.#flushing = undefined
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const joining = new Map()
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const leaving = new Map()
    for (const entry of this.#dirty) {
      if (!entry.wanted) {
        this.#entries.delete(entry.channel)
        if (entry.connection?.ready) push(leaving, entry.connection, entry)
      } else if (entry.connection === null) {
        const connection = this.#connectionFor(entry.slot)
        // a connection that is not ready subscribes all wanted channels as soon as it is
        if (connection?.ready) push(joining, connection, entry)
      }
    }
    this.#dirty.clear()
    for (const connection of new Set([...joining.keys(), ...leaving.keys()])) {
      this.#send(connection, joining.get(connection) ?? [], leaving.get(connection) ?? [])
    }
  }

  /** @param {number} slot @returns {SubscriberConnection | undefined} */
  #connectionFor (slot) {
    const { topology, name, patience, clock, random } = this.#parts
    const nodeKey = topology.nodeOf(slot)
    if (nodeKey === undefined || !topology.has(nodeKey)) return undefined
    let connection = this.#connections.get(nodeKey)
    if (connection === undefined) {
      const options = connectionOptions(`${name}-subscriber`, patience.answer)
      connection = new SubscriberConnection(nodeKey, topology, options, this.#events, { clock, random })
      this.#connections.set(nodeKey, connection)
    }
    return connection
  }

  /**
   * @param {SubscriberConnection} connection
   * @param {ChannelEntry[]} joining
   * @param {ChannelEntry[]} leaving
   */
  #send (connection, joining, leaving) {
    const { single } = this.#parts.topology
    const batch = {}
    for (const entry of joining) {
      entry.connection = connection
      entry.batch = batch
    }
    const groups = [
      ...group(leaving, single).map((members) => ({ name: /** @type {const} */ ('sunsubscribe'), members })),
      ...group(joining, single).map((members) => ({ name: /** @type {const} */ ('ssubscribe'), members }))
    ]
    this.#sending++
    connection
      .send(groups.map(({ name, members }) => ({ name, channels: members.map((entry) => entry.channel) })))
      .then((errors) =>
        errors.forEach((error, i) => {
          if (groups[i].name === 'ssubscribe') this.#settle(groups[i].members, batch, error)
        })
      )
      .catch((error) => this.#settle(joining, batch, error))
      .finally(() => {
        if (--this.#sending > 0 || this.#restored.length === 0) return
        const channels = this.#restored
        this.#restored = []
        for (const listener of this.#restoredListeners) listener(channels)
      })
  }

  /**
   * @param {ChannelEntry[]} members
   * @param {object} batch
   * @param {Error | null} error
   */
  #settle (members, batch, error) {
    let failed = 0
    for (const entry of members) {
      if (entry.batch !== batch) continue
      if (error !== null) {
        failed++
        drop(entry)
        entry.alone = true
        continue
      }
      entry.live = true
      if (entry.alone) this.#backoff.reset()
      entry.alone = false
      if (entry.lost && entry.wanted) this.#restored.push(entry.channel)
      entry.lost = false
      for (const waiter of entry.waiters) waiter.resolve()
    }
    if (error !== null && failed > 0) this.#retryLater(error)
  }

  /** @param {Error} error */
  #retryLater (error) {
    const { topology, onRejected, log, clock } = this.#parts
    onRejected?.(error)
    if (this.#stopped || this.#retrying !== undefined) return
    if (this.#logLimit.due()) log.warn({ reason: error.message }, 'channels could not be subscribed, retrying')
    topology.refresh()
    this.#retrying = clock.timer(this.#backoff.next(), () => {
      this.#retrying = undefined
      for (const entry of this.#entries.values()) if (entry.connection === null) this.#mark(entry)
    })
  }
}

/** Notes that the channel is no longer subscribed. @param {ChannelEntry} entry */
function drop (entry) {
  entry.connection = null
  entry.batch = null
  entry.lost ||= entry.live
  entry.live = false
}
