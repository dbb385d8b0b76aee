import { EventEmitter } from 'node:events'
import { Socket } from 'socket.io'
import { SmallMap } from './small-map.js'
import { kOwner } from '../engine/link.js'

/**
 * Small connections: what Socket.IO, Engine.IO and ws make anew for each one, though it is the same for all, is shared.
 * Mostly that is listeners: bound functions, and the tables that hold them. A stock WebSocket connection has four
 * emitters with about 20 of them, 4 KB; here all connections have the same functions, which find their connection by
 * `this`, in the same tables. Whoever adds or removes a listener gets a copy of the table first.
 *
 * The private parts it touches are listed in hooks.js, and so are the versions they belong to.
 *
 * @typedef {Record<string, Function | Function[]>} Listeners by event, as in EventEmitter's `_events`
 */

/** The socket (of ws) or transport (of Engine.IO) belongs to this transport or Engine.IO socket. */
const kUser = Symbol('user')
const kAcks = Symbol('acks')

/** Tables that belong to many emitters. @type {Set<Listeners>} */
const shared = new Set()
/** @type {Set<object>} */
const guarded = new Set()

/**
 * @param {Listeners} listeners
 * @returns {Listeners} as an EventEmitter makes it: from Node 24 on lists have a mark of their own, without which a
 *   listener that takes itself off would have the next one passed over
 */
function table (listeners) {
  const emitter = new EventEmitter()
  for (const event of Object.keys(listeners)) {
    const some = listeners[event]
    // each connection that ends copies two tables, and `on` for each listener would take 20 us
    if (typeof some === 'function') /** @type {any} */ (emitter)._events[event] = some
    else for (const listener of some) emitter.on(event, /** @type {any} */ (listener))
  }
  return /** @type {any} */ (emitter)._events
}

const WEBSOCKET = table({
  /** @this {any} @param {Buffer} data @param {boolean} isBinary */
  message (data, isBinary) {
    // a view of what was received last, which would be kept until something else is
    this._receiver._mask = undefined
    this[kUser].onData(isBinary ? data : data.toString())
  },
  /** @this {any} */
  close () { this[kUser].onClose() },
  /** @this {any} @param {Error} error */
  error (error) { this[kUser].onError(error) }
})

const TRANSPORT = table({
  /** @this {any} @param {Error} error */
  error (error) { this[kUser].onError(error) },
  /** @this {any} */
  ready () { this[kUser].flush() },
  /** @this {any} @param {object} packet */
  packet (packet) { this[kUser].onPacket(packet) },
  /** @this {any} */
  drain () { this[kUser].onDrain() },
  /** @this {any} */
  close () { this[kUser].onClose('transport close') }
})

const TRANSPORT_EVENTS = Object.keys(TRANSPORT)
const SOCKET_EVENTS = ['error', 'disconnect']

/**
 * Socket.IO's Client.
 * @param {any} self itself, when it calls its own methods, or the Engine.IO socket it listens to
 */
const clientOf = (self) => self.conn === undefined ? self[kOwner].socket.client : self

/** What Client#setup binds to itself. @type {Record<'ondata' | 'onerror' | 'onclose', Function>} */
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

/** In the place of the closure that Engine.IO's server listens with. @this {any} Engine.IO's socket */
function forgetSession () {
  delete this.server.clients[this.id]
  this.server.clientsCount--
}

/**
 * Gives an emitter a table that others have as well.
 * @param {any} emitter
 * @param {Listeners} listeners
 */
function share (emitter, listeners) {
  shared.add(listeners)
  copyOnWrite(Object.getPrototypeOf(emitter))
  emitter._events = listeners
  emitter._eventsCount = Object.keys(listeners).length
}

/** @param {any} prototype of emitters: their listeners are copied before they are changed */
function copyOnWrite (prototype) {
  if (guarded.has(prototype)) return
  guarded.add(prototype)
  for (const name of ['on', 'addListener', 'prependListener', 'off', 'removeListener', 'removeAllListeners']) {
    const change = prototype[name]
    prototype[name] = function (/** @type {unknown} */ event, /** @type {unknown} */ listener) {
      if (shared.has(this._events)) this._events = table(this._events)
      // how many there are says whether all events are meant
      return arguments.length === 0 ? change.call(this) : change.call(this, event, listener)
    }
  }
}

/** A Map for the acknowledgements that a socket waits for is made when it waits for one. */
export function makeAcksLazily () {
  Object.defineProperty(Socket.prototype, 'acks', {
    configurable: true,
    /** @this {any} */
    get () { return this[kAcks] ??= new Map() },
    // the constructor's
    set () {}
  })
}

/**
 * Makes connections small. One per gateway.
 * @param {{ onPacket: Function, onPacketCreate: Function, onDisconnect: Function }} own what the gateway listens with:
 *   the same functions for each connection
 */
export function createSlimming ({ onPacket, onPacketCreate, onDisconnect }) {
  const engineListeners = table({
    packet: onPacket,
    packetCreate: onPacketCreate,
    data: CLIENT.ondata,
    error: CLIENT.onerror,
    close: [forgetSession, CLIENT.onclose]
  })
  const ownListeners = table({
    packet: onPacket,
    packetCreate: onPacketCreate,
    data: CLIENT.ondata,
    error: CLIENT.onerror,
    close: CLIENT.onclose
  })
  // Socket.IO's listens to nothing with the one for errors: an emitter without any would throw
  const socketListeners = table({ error () {}, disconnect: onDisconnect })

  /** @param {any} conn Engine.IO's socket @param {any} client Socket.IO's */
  function slimEngineSocket (conn, client) {
    const { packet, packetCreate, data, error, close } = conn._events
    const alone = close === client.onclose
    const stock =
      conn._eventsCount === 5 &&
      packet === onPacket &&
      packetCreate === onPacketCreate &&
      data === client.ondata &&
      error === client.onerror &&
      (alone ||
        // Engine.IO's server listens to its own as well
        (Array.isArray(close) && close.length === 2 && close[0].listener !== undefined && close[1] === client.onclose))
    // somebody else listens as well, or not everybody does yet
    if (!stock) return
    // it takes them off when it is destroyed
    client.ondata = CLIENT.ondata
    client.onerror = CLIENT.onerror
    client.onclose = CLIENT.onclose
    share(conn, alone ? ownListeners : engineListeners)
    if (client.sockets.size === 1) client.sockets = new SmallMap(client.sockets)
    if (client.nsps.size === 1) client.nsps = new SmallMap(client.nsps)
  }

  /** @param {any} conn Engine.IO's socket, on WebSocket */
  function slimConnection (conn) {
    const { transport } = conn
    // an EngineSocket is its own transport
    if (transport === conn) return slimEngineSocket(conn, clientOf(conn))
    const ws = transport.socket
    if (isStockWebSocket(ws)) {
      ws[kUser] = transport
      share(ws, WEBSOCKET)
    }
    // of no use any more: headers are sent
    transport.removeAllListeners('headers')
    if (hasOneEach(transport, TRANSPORT_EVENTS)) {
      transport[kUser] = conn
      share(transport, TRANSPORT)
      // would take the listeners off one by one
      conn.cleanupFn.length = 0
    }
    slimEngineSocket(conn, clientOf(conn))
  }

  /** @this {any} Engine.IO's socket, whose polling client has upgraded */
  function onUpgrade () {
    this.off('upgrade', onUpgrade)
    slimConnection(this)
  }

  return {
    /**
     * What an extension listens with in addition is kept, and then costs a table of its own.
     * @param {{ conn: any, socket: import('socket.io').Socket }} connection admitted, with the gateway's listeners
     */
    slim ({ conn, socket }) {
      const own = /** @type {any} */ (socket)
      if (
        hasOneEach(own, SOCKET_EVENTS) &&
        own._events.disconnect === onDisconnect &&
        own._events.error.name === 'noop'
      )
        share(own, socketListeners)
      // one that was pushed to has room for 17
      if (own._anyListeners.length === 1) own._anyListeners = own._anyListeners.slice()
      if (conn.transport.name === 'websocket') slimConnection(conn)
      else conn.on('upgrade', onUpgrade)
    }
  }
}

/**
 * @param {any} emitter
 * @param {string[]} events
 * @returns {boolean} whether it has one listener for each of these events, and none for others
 */
function hasOneEach ({ _events: listeners, _eventsCount: count }, events) {
  return count === events.length && events.every((event) => typeof listeners[event] === 'function')
}

/** @param {any} ws */
function isStockWebSocket ({ _events: { message, close, error }, _eventsCount: count }) {
  return count === 3 && typeof message === 'function' && typeof close === 'function' &&
    // of a client that did not begin with polling Engine.IO's server listens as well
    (typeof error === 'function' || (Array.isArray(error) && error.length === 2 && error[0].name === 'onUpgradeError'))
}
