import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { LogLimit } from '../base/common/log-limit.js'
import { PATIENCE, createEntry, group, push, wait } from './channel-entry.js'
import { createSameServer } from './identity/same-server.js'
import { SubscriberConnection } from './subscriber-connection.js'

/**
 * Keeps sharded channels subscribed over lost connections, failovers and hash slots that move. It stores the wanted set
 * of channels and aligns the connections with it, instead of replaying commands. So the last call for a channel
 * decides, and while Redis is unavailable the only state is the wanted set.
 *
 * (ioredis has this too, for Redis Cluster: `shardedSubscribers`. It gives up on a channel whose SSUBSCRIBE fails
 * during a failover, does not report resubscribed channels, and counts all channels with every subscribe.)
 * @typedef {import('./channel-entry.js').ChannelEntry} ChannelEntry
 */

/**
 * @param {object} dependencies
 * @param {import('./topology.js').Topology} dependencies.topology
 * @param {string} dependencies.name
 * @param {(error: Error) => void} [dependencies.onRejected] called with the error when channels cannot be subscribed
 * @param {() => void} [dependencies.onReconnected] called when a lost connection is established again
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {{ answer: number, more: number }} [dependencies.patience] see PATIENCE
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createChannels ({
  topology, name, onRejected = () => {}, onReconnected = () => {}, log, patience = PATIENCE, clock, random
}) {
  /** @type {Map<string, ChannelEntry>} wanted channels, and those to unsubscribe with the next flush */
  const entries = new Map()
  /** @type {Map<string, SubscriberConnection>} by node */
  const connections = new Map()
  /** @type {Set<ChannelEntry>} */
  const dirty = new Set()
  /** @type {((channels: string[]) => void)[]} */
  const restoredListeners = []
  /** @type {string[]} */
  let restored = []
  let sending = 0
  /** @type {Pick<import('../base/common/clock.js').Timer, 'stop'> | undefined} */
  let flushing
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let retrying
  const backoff = new Backoff({ min: 100, max: 5000, random })
  const logLimit = new LogLimit({ clock })
  let stopped = false
  const sameServer = createSameServer(() => connections.values(), { clock, random })

  const events = {
    onServer: sameServer.known,
    /** @param {SubscriberConnection} connection @param {boolean} again */
    onReady (connection, again) {
      if (again) onReconnected()
      for (const entry of entries.values())
        if (entry.connection === null && topology.nodeOf(entry.slot) === connection.nodeKey) mark(entry)
    },
    /** @param {SubscriberConnection} connection */
    onClose (connection) {
      for (const entry of entries.values()) if (entry.connection === connection) drop(entry)
      topology.refresh()
    },
    /** @param {SubscriberConnection} connection */
    onMoved (connection) {
      const subscribed = connection.subscribed()
      for (const entry of entries.values()) {
        if (entry.connection !== connection || !entry.live || subscribed.has(entry.channel)) continue
        drop(entry)
        mark(entry)
      }
      topology.refresh()
    },
    /** @param {SubscriberConnection} connection @param {string} channel @param {Buffer} payload */
    onMessage (connection, channel, payload) {
      const entry = entries.get(channel)
      // an old connection may still deliver: its messages must not follow those of the new one
      if (!entry?.wanted || entry.connection !== connection) return
      try {
        entry.onMessage(payload)
      } catch (error) {
        // rethrown, it would end the process
        log.error({ err: error }, 'the handler of a message from redis failed')
      }
    }
  }

  topology.onChange(() => {
    for (const [nodeKey, connection] of connections) {
      if (topology.has(nodeKey)) continue
      connections.delete(nodeKey)
      connection.close()
      for (const entry of entries.values()) if (entry.connection === connection) drop(entry)
    }
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const left = new Map()
    for (const entry of entries.values()) {
      const { connection } = entry
      if (connection !== null && connection.nodeKey === topology.nodeOf(entry.slot)) continue
      if (connection !== null) push(left, connection, entry)
      drop(entry)
      mark(entry)
    }
    for (const [connection, moved] of left) send(connection, [], moved)
  })

  /** @param {ChannelEntry} entry */
  function mark (entry) {
    dirty.add(entry)
    if (!stopped) flushing ??= clock.soon(flush)
  }

  /** Notes that the channel is no longer subscribed. @param {ChannelEntry} entry */
  function drop (entry) {
    entry.connection = null
    entry.batch = null
    entry.lost ||= entry.live
    entry.live = false
  }

  /** Sends the changes of one turn of the event loop together. */
  function flush () {
    flushing = undefined
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const joining = new Map()
    /** @type {Map<SubscriberConnection, ChannelEntry[]>} */
    const leaving = new Map()
    for (const entry of dirty) {
      if (!entry.wanted) {
        entries.delete(entry.channel)
        if (entry.connection?.ready) push(leaving, entry.connection, entry)
      } else if (entry.connection === null) {
        const connection = connectionFor(entry.slot)
        // a connection that is not ready subscribes all wanted channels as soon as it is
        if (connection?.ready) push(joining, connection, entry)
      }
    }
    dirty.clear()
    for (const connection of new Set([...joining.keys(), ...leaving.keys()])) {
      send(connection, joining.get(connection) ?? [], leaving.get(connection) ?? [])
    }
  }

  /** @param {number} slot @returns {SubscriberConnection | undefined} */
  function connectionFor (slot) {
    const nodeKey = topology.nodeOf(slot)
    if (nodeKey === undefined || !topology.has(nodeKey)) return undefined
    let connection = connections.get(nodeKey)
    if (connection === undefined) {
      connection = new SubscriberConnection(nodeKey, topology, name, events, { clock, random })
      connections.set(nodeKey, connection)
    }
    return connection
  }

  /**
   * @param {SubscriberConnection} connection
   * @param {ChannelEntry[]} joining
   * @param {ChannelEntry[]} leaving
   */
  function send (connection, joining, leaving) {
    const batch = {}
    for (const entry of joining) {
      entry.connection = connection
      entry.batch = batch
    }
    const groups = [
      ...group(leaving, topology.single).map((members) => ({ name: /** @type {const} */ ('sunsubscribe'), members })),
      ...group(joining, topology.single).map((members) => ({ name: /** @type {const} */ ('ssubscribe'), members }))
    ]
    sending++
    connection
      .send(groups.map(({ name, members }) => ({ name, channels: members.map((entry) => entry.channel) })))
      .then((errors) =>
        errors.forEach((error, i) => {
          if (groups[i].name === 'ssubscribe') settle(groups[i].members, batch, error)
        })
      )
      .catch((error) => settle(joining, batch, error))
      .finally(() => {
        if (--sending > 0 || restored.length === 0) return
        const channels = restored
        restored = []
        for (const listener of restoredListeners) listener(channels)
      })
  }

  /**
   * @param {ChannelEntry[]} members
   * @param {object} batch
   * @param {Error | null} error
   */
  function settle (members, batch, error) {
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
      if (entry.alone) backoff.reset()
      entry.alone = false
      if (entry.lost && entry.wanted) restored.push(entry.channel)
      entry.lost = false
      for (const waiter of entry.waiters) waiter.resolve()
    }
    if (error !== null && failed > 0) retryLater(error)
  }

  /** @param {Error} error */
  function retryLater (error) {
    onRejected(error)
    if (stopped || retrying !== undefined) return
    if (logLimit.due()) log.warn({ reason: error.message }, 'channels could not be subscribed, retrying')
    topology.refresh()
    retrying = clock.timer(backoff.next(), () => {
      retrying = undefined
      for (const entry of entries.values()) if (entry.connection === null) mark(entry)
    })
  }

  return {
    /**
     * Subscribes until `unsubscribe`, even if the promise rejects. A set, not a count.
     *
     * @param {string} channel
     * @param {(payload: Buffer) => void} onMessage called for each message
     * @returns {Promise<void>} resolves when the server has confirmed, so messages arrive from now on
     * @throws {InkcastError} unavailable: not confirmed in time, or unsubscribed meanwhile
     */
    subscribe (channel, onMessage) {
      if (stopped) return Promise.reject(new InkcastError('unavailable', 'stopped'))
      let entry = entries.get(channel)
      if (entry === undefined) {
        entry = createEntry(channel, onMessage)
        entries.set(channel, entry)
      }
      entry.onMessage = onMessage
      entry.wanted = true
      if (entry.live) return Promise.resolve()
      mark(entry)
      return wait(entry, patience, clock)
    },

    /** @param {string} channel its messages are dropped from now on */
    unsubscribe (channel) {
      const entry = entries.get(channel)
      if (entry === undefined) return
      entry.wanted = false
      for (const waiter of entry.waiters) waiter.reject(new InkcastError('unavailable', 'unsubscribed meanwhile'))
      mark(entry)
    },

    /**
     * @param {(channels: string[]) => void} listener called with interrupted channels as soon as they are subscribed
     *   again
     */
    onRestored (listener) { restoredListeners.push(listener) },

    follow: sameServer.follow,

    /** How many connections are established. */
    get connected () { return [...connections.values()].filter(({ ready }) => ready).length },

    stop () {
      stopped = true
      flushing?.stop()
      retrying?.stop()
      sameServer.stop()
      for (const entry of entries.values()) {
        entry.wanted = false
        for (const waiter of entry.waiters) waiter.reject(new InkcastError('unavailable', 'stopped'))
      }
      entries.clear()
      for (const connection of connections.values()) connection.close()
      connections.clear()
    }
  }
}
