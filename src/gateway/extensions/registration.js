import { createRequire } from 'node:module'
import { kRefused } from '../../transport/admission/rate-limit.js'
import { extensionRunning, isGuarded, outside } from './guard.js'

const require = createRequire(import.meta.url)
const { Namespace, Server, Socket } = require('socket.io')
const { Adapter } = require('socket.io-adapter')

/**
 * Puts a guard around every listener, middleware and callback that an extension hands to Socket.IO. The methods that
 * take them are wrapped where Socket.IO defines them, so that an extension uses Socket.IO's own objects. The
 * asynchronous context tells which extension calls (guard.js); calls of the gateway itself pass through.
 */

const ADD = ['on', 'addListener', 'prependListener', 'once', 'prependOnceListener']
const REMOVE = ['off', 'removeListener']
const ADD_ANY = ['onAny', 'prependAny', 'onAnyOutgoing', 'prependAnyOutgoing']

/** Objects whose methods are wrapped. @type {WeakSet<object>} */
const wrapped = new WeakSet()

/**
 * @param {any} target
 * @param {string[]} names of its methods
 * @param {(guard: import('./guard.js').Guard, args: any[]) => any[]} change what the method gets instead
 */
function wrap (target, names, change) {
  for (const name of names) {
    const method = target[name]
    target[name] = /** @this {any} @param {any[]} args */ function (...args) {
      const guard = extensionRunning()
      if (guard === undefined) return method.apply(this, args)
      return outside(() => method.apply(this, change(guard, args)))
    }
  }
}

/** @type {(guard: import('./guard.js').Guard, args: any[]) => any[]} */
const addListener = (guard, [event, listener]) =>
  [event, typeof listener === 'function' ? guard.listener(listener) : listener]

/** @type {(guard: import('./guard.js').Guard, args: any[]) => any[]} */
const removeListener = (guard, [event, listener, ...rest]) =>
  [event, typeof listener === 'function' ? guard.listenerOf(listener) : listener, ...rest]

/**
 * `removeAllListeners` removes listeners of extensions only: those of the gateway and of Socket.IO stay.
 * @param {any} emitter prototype or object
 */
function spareOwnListeners (emitter) {
  const { removeAllListeners } = emitter
  emitter.removeAllListeners = /** @this {any} @param {any[]} args */ function (...args) {
    if (extensionRunning() === undefined) return removeAllListeners.apply(this, args)
    for (const event of args.length === 0 ? this.eventNames() : [args[0]]) {
      for (const listener of this.listeners(event)) if (isGuarded(listener)) this.removeListener(event, listener)
    }
    return this
  }
}

/** @param {any} emitter prototype or object */
function wrapEmitter (emitter) {
  if (wrapped.has(emitter)) return
  wrapped.add(emitter)
  wrap(emitter, ADD, addListener)
  wrap(emitter, REMOVE, removeListener)
  spareOwnListeners(emitter)
}

/**
 * `offAny()` without a listener removes those of extensions only.
 * @param {any} prototype
 * @param {string} name of the method
 * @param {string} list name of the method that lists them
 */
function wrapOffAny (prototype, name, list) {
  const method = prototype[name]
  prototype[name] = /** @this {any} @param {any} [listener] */ function (listener) {
    const guard = extensionRunning()
    if (guard === undefined) return method.apply(this, arguments)
    if (listener !== undefined) return method.call(this, guard.listenerOf(listener))
    for (const each of [...this[list]()]) if (isGuarded(each)) method.call(this, each)
    return this
  }
}

/** The callback of an emit is its last argument. @type {(guard: import('./guard.js').Guard, args: any[]) => any[]} */
const lastCallback = (guard, args) => {
  const callback = args.at(-1)
  return typeof callback === 'function' ? [...args.slice(0, -1), guard.callback(callback)] : args
}

/**
 * The promise of a method belongs to the extension that calls it: a rejection that it does not handle counts as its
 * error.
 * @param {Promise<unknown>} promise
 */
const ofCaller = async (promise) => await promise

/**
 * Runs methods outside the extension: the gateway's own listeners to rooms and sockets run below them. Listeners of
 * extensions have their guard.
 * @param {any} target
 * @param {string[]} names of its methods
 */
function leaveExtension (target, names) {
  for (const name of names) {
    const method = target[name]
    target[name] = /** @this {any} @param {any[]} args */ function (...args) {
      if (extensionRunning() === undefined) return method.apply(this, args)
      const result = outside(() => method.apply(this, args))
      return result instanceof Promise ? ofCaller(result) : result
    }
  }
}

/**
 * An event that the gateway refused before decoding is no event of the application.
 * @param {(packet: any[], next: () => void) => void} middleware of a socket
 * @returns {(packet: any[], next: () => void) => void}
 */
const pastRefused = (middleware) => (packet, next) => packet[0] === kRefused ? next() : middleware(packet, next)

/** Call it before extensions get the server. @param {import('socket.io').Server} io bound to its engine */
export function guardRegistration (io) {
  wrapEmitter(io.engine)
  // `socket.conn` is for extensions as well.
  io.engine.on('connection', ({ constructor: { prototype } }) => wrapEmitter(prototype))
  wrap(io.engine, ['use'], (guard, [middleware]) => [guard.middleware(middleware)])
  if (wrapped.has(Socket.prototype)) return
  for (const prototype of [Socket.prototype, Namespace.prototype, Adapter.prototype]) wrapEmitter(prototype)
  wrap(Socket.prototype, ADD_ANY, (guard, [listener]) => [guard.listener(listener)])
  wrapOffAny(Socket.prototype, 'offAny', 'listenersAny')
  wrapOffAny(Socket.prototype, 'offAnyOutgoing', 'listenersAnyOutgoing')
  wrap(Socket.prototype, ['use'], (guard, [middleware]) => [pastRefused(guard.middleware(middleware))])
  wrap(Namespace.prototype, ['use'], (guard, [middleware]) => [guard.middleware(middleware, guard.onRefused)])
  wrap(Server.prototype, ['of'], (guard, [name, listener]) =>
    [typeof name === 'function' ? guard.middleware(name) : name, listener && guard.listener(listener)])
  wrap(Socket.prototype, ['emit'], lastCallback)
  wrap(Namespace.prototype, ['serverSideEmit'], lastCallback)
  const Operator = io.to('').constructor
  wrap(Operator.prototype, ['emit'], lastCallback)
  leaveExtension(Socket.prototype, ['join', 'leave', 'disconnect'])
  leaveExtension(Operator.prototype, ['socketsJoin', 'socketsLeave', 'disconnectSockets'])
}
