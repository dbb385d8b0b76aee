import dns from 'node:dns'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { currentWorld } from './now.js'
import './patched-files.js'

/**
 * While a world runs, servers and connections of Node are the world's. To be imported with patched-time.js, before
 * everything else. Not run in a world: TLS, handles that are passed on, and unix sockets as files.
 */

/** The world's side of a server. */
const kListening = Symbol('listening')

/** @param {any[]} args of `listen` or `connect` */
function optionsOf (args) {
  const callback = args.findLast((arg) => typeof arg === 'function')
  const [first, second] = args
  if (typeof first === 'object' && first !== null) return { ...first, callback }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { path: first, callback }
  return { port: Number(first), host: typeof second === 'string' ? second : undefined, callback }
}

/** @param {string} machine @param {{ path?: string, host?: string, port?: number }} of */
const addressOf = (machine, { path, host, port }) => {
  if (path != null) return `unix:${machine}:${path}`
  return `${host === undefined || host === '0.0.0.0' || host === '127.0.0.1' || host === 'localhost' || host === '::'
    ? machine
    : host}:${port}`
}

const proto = /** @type {any} */ (net.Server.prototype)
const { listen, close, address } = proto

/** @this {any} @param {any[]} args */
proto.listen = function (...args) {
  const world = currentWorld()
  if (world === undefined) return listen.apply(this, args)
  const process = world.current
  if (process === null) throw new Error('a server of nobody')
  const options = optionsOf(args)
  if (options.path == null && !(options.port > 0)) options.port = world.network.freePort()
  // Node would check the connections of an HTTP server by the real time
  for (const listener of this.listeners('listening')) if (/setupConnectionsTracking/.test(listener.name)) this.off('listening', listener)
  // a server that listens again has its open connections
  const sockets = this[kListening]?.sockets ?? new Set()
  const stop = world.network.listen(process, addressOf(process.machine.name, options), (socket) => {
    sockets.add(socket)
    this._connections = sockets.size
    socket.once('close', () => {
      sockets.delete(socket)
      this._connections = sockets.size
      this[kListening]?.ended()
    })
    this.emit('connection', socket)
  }, { allowHalfOpen: this.allowHalfOpen })
  let isOpen = true
  const ended = () => {
    if (isOpen || sockets.size > 0 || this[kListening] !== own) return
    this[kListening] = undefined
    process.enter('server closed', () => this.emit('close'))
  }
  const own = this[kListening] = {
    sockets,
    address: options.path ?? { address: '127.0.0.1', port: options.port, family: 'IPv4' },
    ended,
    get isOpen () { return isOpen },
    stop () {
      stop()
      isOpen = false
      ended()
    }
  }
  Object.defineProperty(this, 'listening', { configurable: true, get: () => isOpen })
  if (options.callback !== undefined) this.once('listening', options.callback)
  process.enter('listening', () => this.emit('listening'))
  return this
}

/** @this {any} @param {any} done */
proto.close = function (done) {
  const own = this[kListening]
  if (own === undefined) return close.call(this, done)
  if (typeof done === 'function') this.once('close', () => done())
  if (own.isOpen) own.stop()
  return this
}

/** @this {any} */
proto.address = function () { return this[kListening] === undefined ? address.call(this) : this[kListening].address }

const ofHttp = /** @type {any} */ (http.Server.prototype)
const { closeAllConnections, closeIdleConnections } = ofHttp
/** @this {any} */
ofHttp.closeAllConnections = function () {
  if (this[kListening] === undefined) return closeAllConnections.call(this)
  for (const socket of [...this[kListening].sockets]) if (socket.parser) socket.destroy()
}
/** @this {any} */
ofHttp.closeIdleConnections = function () {
  if (this[kListening] === undefined) return closeIdleConnections.call(this)
  for (const socket of [...this[kListening].sockets]) if (socket.parser && !socket._httpMessage) socket.destroy()
}
// `close` of an HTTP server closes idle connections first
/** @this {any} @param {any} done */
ofHttp.close = function (done) {
  this.closeIdleConnections()
  return proto.close.call(this, done)
}

const connect = net.connect
/** @param {any[]} args */
function simConnect (...args) {
  const world = currentWorld()
  if (world === undefined) return connect.apply(net, /** @type {any} */ (args))
  const process = world.current
  if (process === null) throw new Error('a connection of nobody')
  const options = optionsOf(args)
  const socket = world.network.connect(process, addressOf(process.machine.name, options))
  if (options.callback !== undefined) socket.once('connect', options.callback)
  if (options.timeout) socket.setTimeout(options.timeout)
  return socket
}
Object.assign(net, { connect: simConnect, createConnection: simConnect })
Object.assign(http.Agent.prototype, { createConnection: simConnect })

// the names of machines are their addresses
const { lookup } = dns
Object.assign(dns, {
  lookup: (/** @type {string} */ name, /** @type {any[]} */ ...args) => {
    if (currentWorld() === undefined) return Reflect.apply(lookup, dns, [name, ...args])
    process.nextTick(args.at(-1), null, name, 4)
  }
})

// the header Date would have the real time: Node formats it once per second, by a real timer
const messages = /** @type {any} */ (http.OutgoingMessage.prototype)
const { _storeHeader } = messages
/** @this {any} @param {any[]} args */
messages._storeHeader = function (...args) {
  if (currentWorld() !== undefined) this.sendDate = false
  return _storeHeader.apply(this, args)
}
syncBuiltinESMExports()

await import('./patched-libraries.js')
