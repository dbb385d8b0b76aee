import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { SmallMap } from '../../base/common/small-map.js'
import { kOwner } from '../engine/link.js'

const require = createRequire(import.meta.url)
const { Socket } = require('socket.io')

/**
 * Listeners that all connections share, to save memory. Socket.IO creates bound functions, and tables of listeners, for
 * each connection. Here all connections have the same functions in the same tables; a function finds its connection by
 * `this`. A table is copied before a listener is added to, or removed from, one emitter. An emitter gets a table only
 * if each of its listeners is known by identity: any other one, of a limit or of an extension, would be lost.
 *
 * @typedef {Record<string, Function>} Listeners by event, as in EventEmitter's `_events`
 */

const kAcks = Symbol('acks')

/** Tables used by many emitters; weak, because those of the sandboxes of the warm-up go. @type {WeakSet<Listeners>} */
const shared = new WeakSet()
/** Prototypes whose methods copy a shared table first. @type {Set<object>} */
const guarded = new Set()

/** @param {Listeners} listeners @returns {Listeners} as an EventEmitter creates it */
const table = (listeners) => Object.assign(/** @type {any} */ (new EventEmitter())._events, listeners)

/**
 * Socket.IO's Client.
 * @param {any} self the Client, or the Engine.IO socket that it listens to
 */
const clientOf = (self) => self.conn === undefined ? self[kOwner].socket.client : self

/** Methods that Client#setup binds to itself. @type {Record<'ondata' | 'onerror' | 'onclose', Function>} */
const CLIENT = {
  /** @this {any} @param {unknown} data */
  ondata (data) {
    Object.getPrototypeOf(clientOf(this)).ondata.call(clientOf(this), data)
  },
  /** @this {any} @param {Error} error */
  onerror (error) {
    Object.getPrototypeOf(clientOf(this)).onerror.call(clientOf(this), error)
  },
  /** @this {any} @param {string} reason @param {unknown} description */
  onclose (reason, description) {
    Object.getPrototypeOf(clientOf(this)).onclose.call(clientOf(this), reason, description)
  }
}

/**
 * Gives an emitter a shared table.
 * @param {any} emitter
 * @param {Listeners} listeners
 */
function share (emitter, listeners) {
  shared.add(listeners)
  copyOnWrite(Object.getPrototypeOf(emitter))
  emitter._events = listeners
  emitter._eventsCount = Object.keys(listeners).length
}

/** Makes emitters copy a shared table before they change it. @param {any} prototype of the emitters */
function copyOnWrite (prototype) {
  if (guarded.has(prototype)) return
  guarded.add(prototype)
  for (const name of ['on', 'addListener', 'prependListener', 'off', 'removeListener', 'removeAllListeners']) {
    const change = prototype[name]
    prototype[name] = function (/** @type {unknown} */ event, /** @type {unknown} */ listener) {
      if (shared.has(this._events)) this._events = table(this._events)
      // Without arguments it removes the listeners of all events.
      return arguments.length === 0 ? change.call(this) : change.call(this, event, listener)
    }
  }
}

/**
 * Socket.IO's listener for errors, one function for all sockets.
 * @type {Function | undefined}
 */
let stockOnError

/** @param {any} socket Socket.IO's, which no extension has seen yet */
export function noteStockListeners (socket) { stockOnError ??= socket._events.error }

/** Creates the Map of pending acknowledgements of a socket with the first one. */
export function makeAcksLazily () {
  Object.defineProperty(Socket.prototype, 'acks', {
    configurable: true,
    /** @this {any} */
    get () { return this[kAcks] ??= new Map() },
    // The constructor assigns a Map.
    set () {}
  })
}

/**
 * One per gateway.
 * @param {{ onPacket: Function, onPacketCreate: Function, onDisconnect: Function }} own the gateway's listeners, the
 *   same functions for each connection
 */
export function createSharedListeners ({ onPacket, onPacketCreate, onDisconnect }) {
  const sessionListeners = table({
    packet: onPacket,
    packetCreate: onPacketCreate,
    data: CLIENT.ondata,
    error: CLIENT.onerror,
    close: CLIENT.onclose
  })
  // Socket.IO has an empty listener for errors: an emitter without one would throw.
  const socketListeners = table({ error () {}, disconnect: onDisconnect })

  /** @param {any} conn Engine.IO's socket @param {any} client Socket.IO's */
  function shareOfSession (conn, client) {
    const { packet, packetCreate, data, error, close } = conn._events
    const stock =
      conn._eventsCount === 5 &&
      packet === onPacket &&
      packetCreate === onPacketCreate &&
      data === client.ondata &&
      error === client.onerror &&
      close === client.onclose
    // There are other listeners, or some are still missing.
    if (!stock) return
    // Client removes these when it is destroyed.
    client.ondata = CLIENT.ondata
    client.onerror = CLIENT.onerror
    client.onclose = CLIENT.onclose
    share(conn, sessionListeners)
    if (client.sockets.size === 1) client.sockets = new SmallMap(client.sockets)
    if (client.nsps.size === 1) client.nsps = new SmallMap(client.nsps)
  }

  return {
    /**
     * Listeners of extensions are kept: then the emitter keeps its own table.
     * @param {{ conn: any, socket: import('socket.io').Socket }} connection admitted, with the gateway's listeners
     */
    share ({ conn, socket }) {
      const own = /** @type {any} */ (socket)
      const { disconnect, error } = own._events
      if (own._eventsCount === 2 && disconnect === onDisconnect && error === stockOnError) share(own, socketListeners)
      // An array that was pushed to has room for 17 elements.
      if (own._anyListeners.length === 1) own._anyListeners = own._anyListeners.slice()
      shareOfSession(conn, clientOf(conn))
    }
  }
}
