import { Namespace, Server, Socket } from 'socket.io'
import { Adapter } from 'socket.io-adapter'
import { extensionRunning, outside } from './guard.js'

/**
 * Puts a guard around every listener, middleware and callback that an extension hands to Socket.IO. The methods that
 * take them are wrapped where Socket.IO defines them, so that an extension uses Socket.IO's own objects. The
 * asynchronous context tells which extension calls (guard.js); calls of the gateway itself pass through.
 */

const ADD = ['on', 'addListener', 'prependListener', 'once', 'prependOnceListener']
const REMOVE = ['off', 'removeListener']
const ADD_ANY = ['onAny', 'prependAny', 'onAnyOutgoing', 'prependAnyOutgoing']
const REMOVE_ANY = ['offAny', 'offAnyOutgoing']

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

/** @param {any} emitter prototype or object */
function wrapEmitter (emitter) {
  if (wrapped.has(emitter)) return
  wrapped.add(emitter)
  wrap(emitter, ADD, addListener)
  wrap(emitter, REMOVE, removeListener)
}

/** The callback of an emit is its last argument. @type {(guard: import('./guard.js').Guard, args: any[]) => any[]} */
const lastCallback = (guard, args) => {
  const callback = args.at(-1)
  return typeof callback === 'function' ? [...args.slice(0, -1), guard.callback(callback)] : args
}

/** Call it before extensions get the server. @param {import('socket.io').Server} io bound to its engine */
export function guardRegistration (io) {
  wrapEmitter(io.engine)
  wrap(io.engine, ['use'], (guard, [middleware]) => [guard.middleware(middleware)])
  if (wrapped.has(Socket.prototype)) return
  for (const prototype of [Socket.prototype, Namespace.prototype, Adapter.prototype]) wrapEmitter(prototype)
  wrap(Socket.prototype, ADD_ANY, (guard, [listener]) => [guard.listener(listener)])
  wrap(Socket.prototype, REMOVE_ANY, (guard, [listener]) => listener === undefined ? [] : [guard.listenerOf(listener)])
  wrap(Socket.prototype, ['use'], (guard, [middleware]) => [guard.middleware(middleware)])
  wrap(Namespace.prototype, ['use'], (guard, [middleware]) => [guard.middleware(middleware, guard.onRefused)])
  wrap(Server.prototype, ['of'], (guard, [name, listener]) =>
    [typeof name === 'function' ? guard.middleware(name) : name, listener && guard.listener(listener)])
  wrap(Socket.prototype, ['emit'], lastCallback)
  wrap(Namespace.prototype, ['serverSideEmit'], lastCallback)
  wrap(io.to('').constructor.prototype, ['emit'], lastCallback)
}
